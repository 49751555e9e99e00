// The settings of agent.json, declared for a cluster in git or written on a node. Everything has a default. On a node a mistake disables only itself; in git it
// refuses the commit.
import { isObject } from '#lib/json.ts'
import { durationMs } from '#lib/duration.ts'
import { parsedConfig } from './agent-config-map.ts'
import { unknownKeys } from './unknown-keys.ts'
import { NO_DETECTION, parseDetect, type DetectConfig } from './detect-config.ts'
import { parseLogSources, type LogSource } from './log-rules.ts'

export interface AgentConfig {
  /** Whether the agent creates the Node object; false if a kubelet does. */
  readonly registerNode: boolean
  /** Loopback address at which this node's components are probed; undefined: derived from the node's name. */
  readonly address: string | undefined
  readonly allowedOrigins: readonly string[]
  /** Relative to the artifact base. */
  readonly trustUrl: string
  readonly leaseMs: number
  readonly frozenAfterMs: number
  /** How long a frozen component is left to repairs before the agent restarts it. */
  readonly frozenGraceMs: number
  /** How long a component must be healthy before its problem counts as over. */
  readonly clearAfterMs: number
  readonly logs: readonly LogSource[]
  readonly detect: DetectConfig
}

export interface ParsedConfig {
  readonly config: AgentConfig
  /** Mistakes, each replaced by its default. */
  readonly problems: readonly string[]
}

/** A component that was healthy for so long has no problem any more. */
export const CLEAR_AFTER_MS = 2_000

const DEFAULTS: AgentConfig = {
  registerNode: true,
  address: undefined,
  allowedOrigins: [],
  trustUrl: 'trust.json',
  leaseMs: 10_000,
  frozenAfterMs: 2_000,
  frozenGraceMs: 60_000,
  clearAfterMs: CLEAR_AFTER_MS,
  logs: [],
  detect: NO_DETECTION,
}

/** Every allowed top-level key. */
export const CONFIG_KEYS: readonly string[] = [
  'registerNode',
  'address',
  'allowedOrigins',
  'trustUrl',
  'lease',
  'frozenAfter',
  'frozenGrace',
  'clearAfter',
  'logs',
  'monitors',
  'detectors',
  'metrics',
]

const MAX_ORIGINS = 16
const LOOPBACK = /^127(\.\d{1,3}){3}$/

/** The text of agent.json; undefined if there is none. */
export function parseConfig(text: string | undefined): ParsedConfig {
  if (text === undefined) return { config: DEFAULTS, problems: [] }
  const value = parsedConfig(text)
  if (!isObject(value)) return { config: DEFAULTS, problems: ['agent.json is not a JSON object'] }
  const problems: string[] = []
  const pick = <T>(name: string, { read, is }: Reading<T>, otherwise: T): T => {
    if (value[name] === undefined) return otherwise
    const parsed = read(value[name])
    if (parsed === undefined) problems.push(`${name} is not ${is}`)
    return parsed ?? otherwise
  }
  const duration = (name: string, otherwise: number) => pick(name, DURATION, otherwise)
  const logs = parseLogSources(value['logs'])
  const detect = parseDetect(value)
  const config: AgentConfig = {
    registerNode: pick('registerNode', BOOLEAN, DEFAULTS.registerNode),
    address: pick<string | undefined>('address', ADDRESS, undefined),
    allowedOrigins: pick('allowedOrigins', ORIGINS, []),
    trustUrl: pick('trustUrl', TEXT, DEFAULTS.trustUrl),
    leaseMs: duration('lease', DEFAULTS.leaseMs),
    frozenAfterMs: duration('frozenAfter', DEFAULTS.frozenAfterMs),
    frozenGraceMs: duration('frozenGrace', DEFAULTS.frozenGraceMs),
    clearAfterMs: duration('clearAfter', DEFAULTS.clearAfterMs),
    logs: logs.sources,
    detect: detect.detect,
  }
  return {
    config,
    problems: [...unknownKeys('', value, CONFIG_KEYS), ...problems, ...logs.problems, ...detect.problems],
  }
}

const isText = (v: unknown): v is string => typeof v === 'string' && v.length > 0 && v.length < 2_048
const isTexts = (v: unknown): v is readonly string[] => Array.isArray(v) && v.every(isText)

interface Reading<T> {
  readonly read: (v: unknown) => T | undefined
  /** The expected form of a value, for the message. */
  readonly is: string
}

const DURATION: Reading<number> = {
  read: (v) => (typeof v === 'string' ? durationMs(v) : undefined),
  is: 'a duration such as "10s"',
}
const BOOLEAN: Reading<boolean> = { read: (v) => (typeof v === 'boolean' ? v : undefined), is: 'true or false' }
const TEXT: Reading<string> = { read: (v) => (isText(v) ? v : undefined), is: 'a text' }
const ADDRESS: Reading<string> = {
  read: (v) => (isText(v) && LOOPBACK.test(v) ? v : undefined),
  is: 'an address in 127.0.0.0/8',
}
const ORIGINS: Reading<readonly string[]> = {
  read: (v) => (isTexts(v) && v.length <= MAX_ORIGINS ? v : undefined),
  is: `a list of at most ${MAX_ORIGINS} texts`,
}
