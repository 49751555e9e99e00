// What an operator or a provider may say about one agent, in agent.json of the node's folder. Everything has a default; a mistake disables only itself.
import { isObject } from '#lib/json.ts'
import { durationMs } from '#lib/duration.ts'
import { NO_DETECTION, parseDetect, type DetectConfig } from './detect/detect-config.ts'
import { parseLogSources, type LogSource } from './detect/log-rules.ts'

export interface AgentConfig {
  /** Whether the agent makes the Node object; false where a kubelet does. */
  readonly registerNode: boolean
  /** Address of the loopback network at which components of this node are probed; undefined: one made from the node's name. */
  readonly address: string | undefined
  readonly allowedOrigins: readonly string[]
  /** Relative to the artifact base. */
  readonly trustUrl: string
  readonly leaseMs: number
  readonly frozenAfterMs: number
  /** How long a frozen component is left to repairs before the agent restarts it by itself. */
  readonly frozenGraceMs: number
  /** How long a component must be well again before its problem is called over. */
  readonly clearAfterMs: number
  readonly logs: readonly LogSource[]
  readonly detect: DetectConfig
}

export interface ParsedConfig {
  readonly config: AgentConfig
  /** What was wrong and is left at its default. */
  readonly problems: readonly string[]
}

const DEFAULTS: AgentConfig = {
  registerNode: true,
  address: undefined,
  allowedOrigins: [],
  trustUrl: 'trust.json',
  leaseMs: 10_000,
  frozenAfterMs: 2_000,
  frozenGraceMs: 60_000,
  clearAfterMs: 2_000,
  logs: [],
  detect: NO_DETECTION,
}

const MAX_ORIGINS = 16
const LOOPBACK = /^127(\.\d{1,3}){3}$/

/** The text of agent.json; undefined when there is none. */
export function parseConfig(text: string | undefined): ParsedConfig {
  if (text === undefined) return { config: DEFAULTS, problems: [] }
  const value = jsonOf(text)
  if (!isObject(value)) return { config: DEFAULTS, problems: ['agent.json is not a JSON object'] }
  const problems: string[] = []
  const pick = <T>(name: string, read: (v: unknown) => T | undefined, otherwise: T): T => {
    if (value[name] === undefined) return otherwise
    const parsed = read(value[name])
    if (parsed === undefined) problems.push(`${name} makes no sense`)
    return parsed ?? otherwise
  }
  const duration = (name: string, otherwise: number) =>
    pick(name, (v) => (typeof v === 'string' ? durationMs(v) : undefined), otherwise)
  const logs = parseLogSources(value['logs'])
  const detect = parseDetect(value)
  const config: AgentConfig = {
    registerNode: pick('registerNode', (v) => (typeof v === 'boolean' ? v : undefined), DEFAULTS.registerNode),
    address: pick<string | undefined>('address', (v) => (isText(v) && LOOPBACK.test(v) ? v : undefined), undefined),
    allowedOrigins: pick('allowedOrigins', (v) => (isTexts(v) ? v.slice(0, MAX_ORIGINS) : undefined), []),
    trustUrl: pick('trustUrl', (v) => (isText(v) ? v : undefined), DEFAULTS.trustUrl),
    leaseMs: duration('lease', DEFAULTS.leaseMs),
    frozenAfterMs: duration('frozenAfter', DEFAULTS.frozenAfterMs),
    frozenGraceMs: duration('frozenGrace', DEFAULTS.frozenGraceMs),
    clearAfterMs: duration('clearAfter', DEFAULTS.clearAfterMs),
    logs: logs.sources,
    detect: detect.detect,
  }
  return { config, problems: [...problems, ...logs.problems, ...detect.problems] }
}

const isText = (v: unknown): v is string => typeof v === 'string' && v.length > 0 && v.length < 2_048
const isTexts = (v: unknown): v is readonly string[] => Array.isArray(v) && v.every(isText)

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
