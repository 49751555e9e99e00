// Reads node-problem-detector's own configuration files unchanged: log monitors, custom plug-in monitors, system statistics. A mistake disables only its rule
// or file.
import { durationMs } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'
import { regexProblem } from '#lib/regex.ts'
import { textIn } from '#lib/fields.ts'
import { goLayout } from './go-time.ts'
import { logPatternProblem } from './log-pattern.ts'
import { climbs } from './node-paths.ts'

export interface DefaultCondition {
  readonly type: string
  readonly reason: string
  readonly message: string
}

interface CommonRule {
  /** The condition it sets to true; undefined: an event only. */
  readonly condition: string | undefined
  readonly reason: string
}

interface LogMonitorRule extends CommonRule {
  readonly pattern: string
  readonly messageSuffix: string | undefined
}

export interface PluginRule extends CommonRule {
  readonly path: string
  readonly args: readonly string[]
  readonly timeoutMs: number
  readonly everyMs: number
}

interface CommonMonitor {
  readonly source: string
  readonly conditions: readonly DefaultCondition[]
  /** Whether it counts in problem_counter and problem_gauge. */
  readonly hasMetrics: boolean
}

export type LogPlugin =
  | { readonly kind: 'kmsg' }
  | { readonly kind: 'journald'; readonly identifier: string }
  | {
      readonly kind: 'filelog'
      readonly timestamp: string
      readonly message: string
      readonly timestampFormat: string
    }

export interface LogMonitorConfig extends CommonMonitor {
  readonly kind: 'Log'
  readonly plugin: LogPlugin
  readonly path: string
  readonly lookbackMs: number
  /** Skips lines from this long after boot. */
  readonly delayMs: number
  readonly bufferSize: number
  readonly skip: readonly string[]
  readonly rules: readonly LogMonitorRule[]
}

export interface PluginMonitorConfig extends CommonMonitor {
  readonly kind: 'Plugin'
  readonly concurrency: number
  readonly maxOutput: number
  readonly showsNewMessages: boolean
  readonly skipsInitialStatus: boolean
  readonly rules: readonly PluginRule[]
}

/** Metric name in the file → exported name. */
type MetricNames = ReadonlyMap<string, string>

export interface StatsMonitorConfig {
  readonly kind: 'Stats'
  readonly metrics: MetricNames
  readonly everyMs: number
  readonly excludeInterfaces: string | undefined
  readonly knownModulesPath: string | undefined
}

export type MonitorConfig = LogMonitorConfig | PluginMonitorConfig | StatsMonitorConfig

export interface ParsedMonitor {
  /** Undefined: nothing in it is usable. */
  readonly monitor: MonitorConfig | undefined
  readonly problems: readonly string[]
}

/** Same as node-problem-detector's. */
const DEFAULT_BUFFER = 10
const DEFAULT_TIMEOUT_MS = 5_000
const DEFAULT_INTERVAL_MS = 30_000
export const DEFAULT_OUTPUT = 80
export const DEFAULT_CONCURRENCY = 3
const DEFAULT_STATS_MS = 60_000

/** More is a mistake in the file; each limit keeps one file from using up the agent's memory or time. */
const MAX_BUFFER = 1_000
const MAX_RULES = 128
const MAX_CONDITIONS = 32
export const MAX_CONCURRENCY = 16
export const MAX_OUTPUT = 1_024
export const MIN_INTERVAL_MS = 1_000

/** The API's format of condition types and reasons. */
const NAME = /^[A-Za-z]([A-Za-z0-9_.,:-]{0,126}[A-Za-z0-9_])?$/

export function parseMonitor(value: unknown): ParsedMonitor {
  if (!isObject(value)) return { monitor: undefined, problems: ['is not a JSON object'] }
  const problems: string[] = []
  const plugin = value['plugin']
  if (plugin === undefined && STATS.some((s) => isObject(value[s]))) return parseStats(value)
  if (plugin === 'custom') return { monitor: parsePlugins(value, problems), problems }
  if (plugin === 'kmsg' || plugin === 'journald' || plugin === 'filelog')
    return { monitor: parseLog(value, plugin, problems), problems }
  return { monitor: undefined, problems: [`its plugin is ${JSON.stringify(plugin) ?? 'missing'}`] }
}

/** For messages: the text of a file that may not be JSON. */
export function parseMonitorText(text: string): ParsedMonitor {
  try {
    return parseMonitor(JSON.parse(text))
  } catch {
    return { monitor: undefined, problems: ['is not JSON'] }
  }
}

function parseLog(
  value: Readonly<Record<string, unknown>>,
  name: 'kmsg' | 'journald' | 'filelog',
  problems: string[],
): LogMonitorConfig | undefined {
  const config = isObject(value['pluginConfig']) ? value['pluginConfig'] : {}
  const plugin = logPlugin(name, config, problems)
  const common = parseCommon(value, problems)
  if (plugin === undefined || common === undefined) return undefined
  const path = textIn(value['logPath']) ?? (name === 'kmsg' ? '/dev/kmsg' : '')
  if (climbs(path)) return void problems.push('logPath has a part ..')
  const rules = listOf(value['rules']).flatMap((r, n): LogMonitorRule[] => {
    const rule = commonRule(r, common.conditions)
    const pattern = isObject(r) ? r['pattern'] : undefined
    const problem = typeof rule === 'string' ? rule : patternProblem(pattern)
    if (problem === undefined && typeof rule !== 'string' && isObject(r))
      return [{ ...rule, pattern: String(pattern), messageSuffix: textIn(r['patternGeneratedMessageSuffix']) }]
    problems.push(`rules[${n}] ${problem}`)
    return []
  })
  const size = value['bufferSize']
  const skipped = Array.isArray(value['skipList']) ? value['skipList'] : []
  return {
    kind: 'Log',
    ...common,
    plugin,
    path,
    lookbackMs: duration(value['lookback'], 0, 'lookback', problems),
    delayMs: duration(value['delay'], 0, 'delay', problems),
    bufferSize: typeof size === 'number' && size >= 1 ? Math.min(MAX_BUFFER, Math.floor(size)) : DEFAULT_BUFFER,
    skip: skipped.filter((s): s is string => typeof s === 'string' && s !== '').slice(0, MAX_RULES),
    rules,
  }
}

function logPlugin(
  name: 'kmsg' | 'journald' | 'filelog',
  config: Readonly<Record<string, unknown>>,
  problems: string[],
): LogPlugin | undefined {
  const bad = (problem: string): undefined => void problems.push(problem)
  if (name === 'kmsg') return { kind: 'kmsg' }
  if (name === 'journald') {
    const identifier = textIn(config['source'])
    return identifier === undefined ? bad('pluginConfig.source is missing') : { kind: 'journald', identifier }
  }
  const [timestamp, message, timestampFormat] = [
    textIn(config['timestamp']),
    textIn(config['message']),
    textIn(config['timestampFormat']),
  ]
  if (timestamp === undefined || message === undefined || timestampFormat === undefined)
    return bad('pluginConfig needs timestamp, message and timestampFormat')
  const problem = logPatternProblem(timestamp) ?? logPatternProblem(message)
  if (problem !== undefined) return bad(`pluginConfig: ${problem}`)
  if (goLayout(timestampFormat) === undefined) return bad('pluginConfig.timestampFormat is not a time layout')
  return { kind: 'filelog', timestamp, message, timestampFormat }
}

function parsePlugins(value: Readonly<Record<string, unknown>>, problems: string[]): PluginMonitorConfig | undefined {
  const config = isObject(value['pluginConfig']) ? value['pluginConfig'] : {}
  const common = parseCommon(value, problems)
  if (common === undefined) return undefined
  const timeoutMs = duration(config['timeout'], DEFAULT_TIMEOUT_MS, 'timeout', problems)
  const everyMs = duration(config['invoke_interval'], DEFAULT_INTERVAL_MS, 'invoke_interval', problems)
  const rules = listOf(value['rules']).flatMap((r, n): PluginRule[] => {
    const rule = commonRule(r, common.conditions)
    const problem = typeof rule === 'string' ? rule : programProblem(r)
    if (problem !== undefined || typeof rule === 'string' || !isObject(r)) {
      problems.push(`rules[${n}] ${problem}`)
      return []
    }
    const own = duration(r['timeout'], timeoutMs, `rules[${n}].timeout`, problems)
    const interval = duration(r['invoke_interval'], everyMs, `rules[${n}].invoke_interval`, problems)
    return [
      {
        ...rule,
        path: String(r['path']),
        args: Array.isArray(r['args']) ? r['args'].map(String) : [],
        timeoutMs: Math.min(own, timeoutMs),
        everyMs: Math.max(MIN_INTERVAL_MS, interval),
      },
    ]
  })
  return {
    kind: 'Plugin',
    ...common,
    concurrency: count(config['concurrency'], DEFAULT_CONCURRENCY, MAX_CONCURRENCY),
    maxOutput: count(config['max_output_length'], DEFAULT_OUTPUT, MAX_OUTPUT),
    showsNewMessages: config['enable_message_change_based_condition_update'] === true,
    skipsInitialStatus: config['skip_initial_status'] === true,
    rules,
  }
}

function programProblem(rule: unknown): string | undefined {
  const path = isObject(rule) ? textIn(rule['path']) : undefined
  if (path === undefined) return 'has no path'
  return climbs(path) ? 'has a path with a part ..' : undefined
}

const STATS = ['cpu', 'disk', 'host', 'memory', 'osFeature', 'net']

function parseStats(value: Readonly<Record<string, unknown>>): ParsedMonitor {
  const problems: string[] = []
  const metrics = new Map<string, string>()
  for (const part of STATS) {
    const section = value[part]
    const configs = isObject(section) && isObject(section['metricsConfigs']) ? section['metricsConfigs'] : {}
    for (const [name, config] of Object.entries(configs)) {
      const shown = isObject(config) ? textIn(config['displayName']) : undefined
      if (shown !== undefined) metrics.set(name, shown)
    }
  }
  const net = isObject(value['net']) ? value['net'] : {}
  const features = isObject(value['osFeature']) ? value['osFeature'] : {}
  const exclude = textIn(net['excludeInterfaceRegexp'])
  const excludeProblem = exclude === undefined ? undefined : regexProblem(exclude)
  if (excludeProblem !== undefined) problems.push(`net.excludeInterfaceRegexp: ${excludeProblem}`)
  const known = textIn(features['KnownModulesConfigPath'])
  const isKnownUsable = known === undefined || !climbs(known)
  if (!isKnownUsable) problems.push('osFeature.KnownModulesConfigPath has a part ..')
  const monitor: StatsMonitorConfig = {
    kind: 'Stats',
    metrics,
    everyMs: Math.max(MIN_INTERVAL_MS, duration(value['invokeInterval'], DEFAULT_STATS_MS, 'invokeInterval', problems)),
    excludeInterfaces: excludeProblem === undefined ? exclude : undefined,
    knownModulesPath: isKnownUsable ? known : undefined,
  }
  return { monitor, problems }
}

function parseCommon(value: Readonly<Record<string, unknown>>, problems: string[]): CommonMonitor | undefined {
  const source = textIn(value['source'])
  if (source === undefined || !NAME.test(source)) {
    problems.push('source is missing or not a name')
    return undefined
  }
  const conditions = listOf(value['conditions'], MAX_CONDITIONS).flatMap((c, n): DefaultCondition[] => {
    const [type, reason] = isObject(c) ? [textIn(c['type']), textIn(c['reason'])] : []
    if (type !== undefined && reason !== undefined && NAME.test(type) && NAME.test(reason))
      return [{ type, reason, message: isObject(c) ? (textIn(c['message']) ?? '') : '' }]
    problems.push(`conditions[${n}] needs a type and a reason`)
    return []
  })
  return { source, conditions, hasMetrics: value['metricsReporting'] !== false }
}

/** The rule, or its problem. */
function commonRule(r: unknown, conditions: readonly DefaultCondition[]): CommonRule | string {
  if (!isObject(r)) return 'is not an object'
  const reason = textIn(r['reason'])
  if (reason === undefined || !NAME.test(reason)) return 'has no valid reason'
  if (r['type'] === 'temporary') return { condition: undefined, reason }
  if (r['type'] !== 'permanent') return 'must be temporary or permanent'
  const condition = textIn(r['condition'])
  if (condition === undefined || !conditions.some((c) => c.type === condition))
    return `names the condition ${JSON.stringify(condition) ?? ''}, which the file does not list`
  return { condition, reason }
}

const patternProblem = (pattern: unknown): string | undefined =>
  typeof pattern === 'string' && pattern !== '' ? logPatternProblem(pattern) : 'has no pattern'

const listOf = (v: unknown, max = MAX_RULES): readonly unknown[] => (Array.isArray(v) ? v.slice(0, max) : [])

const count = (v: unknown, otherwise: number, max: number): number =>
  typeof v === 'number' && v >= 1 ? Math.min(max, Math.floor(v)) : otherwise

function duration(v: unknown, otherwise: number, name: string, problems: string[]): number {
  if (v === undefined || v === '') return otherwise
  const ms = typeof v === 'string' ? durationMs(v) : undefined
  if (ms === undefined) problems.push(`${name} is not a duration`)
  return ms ?? otherwise
}
