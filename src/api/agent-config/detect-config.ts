// agent.json's detection settings: monitors in node-problem-detector's format, KubeNode's own detectors with thresholds, and metrics.
import { durationMs } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'
import { OPERATIONS, type OperationName } from '../kinds/operations.ts'
import { allowedFirmware, FIRMWARE_KINDS } from './allowed-firmware.ts'
import { classParts, PART_KINDS } from './class-parts.ts'
import { climbs, isNodePath } from './node-paths.ts'
import { DEFAULT_METRICS, type MetricsConfig, parseMetrics } from './metrics-config.ts'
import { unknownKeys } from './unknown-keys.ts'
import { DETECTOR_DEFAULTS, type DetectorSettings } from './detector-settings.ts'

export interface MonitorEntry {
  /** On the node. */
  readonly file: string | undefined
  /** The content of such a file, inline. */
  readonly inline: unknown
  /** Conditions of the file that end if no line confirmed them for this long. */
  readonly clearAfterMs: ReadonlyMap<string, number>
  /** Conditions of the file that end when one of these operations succeeded here without a new line since. */
  readonly clearedBy: ReadonlyMap<string, ReadonlySet<OperationName>>
}

export interface DetectConfig {
  readonly monitors: readonly MonitorEntry[]
  readonly detectors: DetectorSettings
  readonly metrics: MetricsConfig
}

const MAX_MONITORS = 64
const MONITOR_KEYS: readonly string[] = ['file', 'config', 'clearAfter', 'clearedBy']

export const NO_DETECTION: DetectConfig = { monitors: [], detectors: DETECTOR_DEFAULTS, metrics: DEFAULT_METRICS }

export function parseDetect(config: Readonly<Record<string, unknown>>): {
  readonly detect: DetectConfig
  readonly problems: readonly string[]
} {
  const problems: string[] = []
  const monitors = config['monitors'] ?? []
  if (!Array.isArray(monitors)) problems.push('monitors is not a list')
  if (Array.isArray(monitors) && monitors.length > MAX_MONITORS)
    problems.push(`monitors has ${monitors.length} entries (limit ${MAX_MONITORS}); the others are ignored`)
  const entries = Array.isArray(monitors) ? monitors.slice(0, MAX_MONITORS) : []
  return {
    detect: {
      monitors: entries.flatMap((v: unknown, n) => entryOf(v, n, problems)),
      detectors: settingsOf(config['detectors'], problems),
      metrics: parseMetrics(config['metrics'], problems),
    },
    problems,
  }
}

function entryOf(v: unknown, n: number, problems: string[]): readonly MonitorEntry[] {
  const none = { clearAfterMs: new Map<string, number>(), clearedBy: new Map<string, ReadonlySet<OperationName>>() }
  if (typeof v === 'string' && isNodePath(v)) return [{ file: v, inline: undefined, ...none }]
  if (!isObject(v) || (typeof v['file'] !== 'string' && !isObject(v['config']))) {
    problems.push(`monitors[${n}] must be an absolute path without .. or an object with file or config`)
    return []
  }
  if (typeof v['file'] === 'string' && !isNodePath(v['file'])) {
    problems.push(`monitors[${n}].file must be an absolute path without ..`)
    return []
  }
  problems.push(...unknownKeys(`monitors[${n}]`, v, MONITOR_KEYS))
  for (const [condition, text] of Object.entries(isObject(v['clearAfter']) ? v['clearAfter'] : {})) {
    const ms = typeof text === 'string' ? durationMs(text) : undefined
    if (ms === undefined) problems.push(`monitors[${n}].clearAfter.${condition} is not a duration such as "10m"`)
    else none.clearAfterMs.set(condition, ms)
  }
  for (const [condition, names] of Object.entries(isObject(v['clearedBy']) ? v['clearedBy'] : {})) {
    const listed: readonly unknown[] = Array.isArray(names) ? names : []
    const known = OPERATIONS.filter((o) => listed.includes(o))
    if (known.length === 0 || known.length < new Set(listed).size)
      problems.push(`monitors[${n}].clearedBy.${condition} is not a list of operations; use ${OPERATIONS.join(', ')}`)
    if (known.length > 0) none.clearedBy.set(condition, new Set(known))
  }
  return [{ file: typeof v['file'] === 'string' ? v['file'] : undefined, inline: v['config'], ...none }]
}

/** Each detector: false turns it off, an object overrides single thresholds. A threshold of the wrong type keeps its default. */
function settingsOf(v: unknown, problems: string[]): DetectorSettings {
  if (v === undefined) return DETECTOR_DEFAULTS
  if (!isObject(v)) {
    problems.push('detectors is not an object')
    return DETECTOR_DEFAULTS
  }
  problems.push(...unknownKeys('detectors', v, Object.keys(DETECTOR_DEFAULTS)))
  return Object.fromEntries(
    Object.entries(DETECTOR_DEFAULTS).map(([name, defaults]) => [name, oneOf(v[name], name, defaults, problems)]),
  ) as unknown as DetectorSettings
}

function oneOf(v: unknown, name: string, defaults: object, problems: string[]): object {
  if (v === undefined || v === true) return defaults
  if (v === false) return { ...defaults, isOn: false }
  if (!isObject(v)) {
    problems.push(`detectors.${name} must be a boolean or an object`)
    return defaults
  }
  problems.push(...unknownKeys(`detectors.${name}`, v, Object.keys(defaults)))
  const changed: Record<string, unknown> = { ...defaults }
  for (const [key, like] of Object.entries(defaults)) {
    if (v[key] === undefined) continue
    const { is, read } = settingOf(like, key)
    const value = read(v[key])
    if (value === undefined) problems.push(`detectors.${name}.${key} is not ${is}`)
    else changed[key] = value
  }
  return changed
}

const MAX_TEXTS = 32

/** Undefined: the value has the wrong type. */
interface Setting {
  readonly is: string
  readonly read: (value: unknown) => unknown
}

const DURATION: Setting = {
  is: 'a duration such as "10s"',
  read: (v) => (typeof v === 'string' ? durationMs(v) : undefined),
}
const NUMBER: Setting = { is: 'a number of at least 0', read: (v) => (typeof v === 'number' && v >= 0 ? v : undefined) }
const FLAG: Setting = { is: 'true or false', read: (v) => (typeof v === 'boolean' ? v : undefined) }
const TEXTS: Setting = {
  is: 'a list of texts without ..',
  read: (v) =>
    Array.isArray(v) && v.every((t) => typeof t === 'string' && !climbs(t)) ? v.slice(0, MAX_TEXTS) : undefined,
}

const entries = (is: string, entryOf: (text: string) => unknown): Setting => ({
  is,
  read: (v) =>
    Array.isArray(v) && v.every((t) => typeof t === 'string' && entryOf(t) !== undefined)
      ? v.slice(0, MAX_TEXTS)
      : undefined,
})
const FIRMWARE = entries(
  `a list of texts such as "nvme MODEL*=VERSION|VERSION"; kinds: ${FIRMWARE_KINDS.join(', ')}`,
  allowedFirmware,
)
const PARTS = entries(
  `a list of texts such as "CLASS* gpu=8 infiniband=8"; kinds: ${PART_KINDS.join(', ')}`,
  classParts,
)

/** Times are durations in the file and milliseconds internally. */
function settingOf(like: unknown, key: string): Setting {
  if (key.endsWith('Ms')) return DURATION
  if (key === 'allowed') return FIRMWARE
  if (key === 'expected') return PARTS
  if (typeof like === 'number') return NUMBER
  return typeof like === 'boolean' ? FLAG : TEXTS
}
