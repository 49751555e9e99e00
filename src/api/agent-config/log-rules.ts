// Which log lines mean a node problem, from the agent's configuration. An unusable rule disables only itself.
import { isNodePath } from './node-paths.ts'
import { unknownKeys } from './unknown-keys.ts'
import { isObject } from '#lib/json.ts'
import { durationMs } from '#lib/duration.ts'
import { compileRegex, type Regex } from '#lib/regex.ts'
import { logPatternProblem } from './log-pattern.ts'

export interface LogRule {
  /** Type of the Node condition. */
  readonly condition: string
  readonly reason: string
  readonly pattern: Regex
  /** A line that ends the condition. */
  readonly clearPattern: Regex | undefined
  /** Ends if no such line came for this long; without it only a reboot or the clear pattern ends it. */
  readonly clearAfterMs: number | undefined
}

export interface LogSource {
  /** As on the node. */
  readonly path: string
  readonly rules: readonly LogRule[]
}

const MAX_SOURCES = 16
const MAX_RULES = 64
const SOURCE_KEYS: readonly string[] = ['path', 'rules']
const RULE_KEYS: readonly string[] = ['condition', 'reason', 'pattern', 'clearPattern', 'clearAfter']
/** The API's format of condition types and reasons. */
const TYPE = /^[A-Za-z]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const EXAMPLES = { condition: 'DiskSpaceLow', reason: 'NoSpaceLeft' }

export function parseLogSources(value: unknown): {
  readonly sources: readonly LogSource[]
  readonly problems: readonly string[]
} {
  if (value === undefined) return { sources: [], problems: [] }
  if (!Array.isArray(value)) return { sources: [], problems: ['logs is not a list'] }
  const problems: string[] = []
  if (value.length > MAX_SOURCES) problems.push(tooMany('logs', value, MAX_SOURCES))
  const sources = value.slice(0, MAX_SOURCES).flatMap((v: unknown, n): LogSource[] => {
    if (!isObject(v) || typeof v['path'] !== 'string' || !isNodePath(v['path']) || !Array.isArray(v['rules'])) {
      problems.push(`logs[${n}] needs an absolute path without .. and rules`)
      return []
    }
    const at = `logs[${n}].rules`
    problems.push(...unknownKeys(`logs[${n}]`, v, SOURCE_KEYS))
    if (v['rules'].length > MAX_RULES) problems.push(tooMany(at, v['rules'], MAX_RULES))
    const rules = v['rules'].slice(0, MAX_RULES).flatMap((r: unknown, m): LogRule[] => {
      if (isObject(r)) problems.push(...unknownKeys(`${at}[${m}]`, r, RULE_KEYS))
      const problem = ruleProblem(r)
      if (problem === undefined) return [ruleOf(r as RawRule)]
      problems.push(`${at}[${m}]: ${problem}`)
      return []
    })
    return [{ path: v['path'], rules }]
  })
  return { sources, problems }
}

const tooMany = (at: string, list: readonly unknown[], max: number): string =>
  `${at} has ${list.length} entries (limit ${max}); the others are ignored`

interface RawRule {
  readonly condition: string
  readonly reason: string
  readonly pattern: string
  readonly clearPattern?: string
  readonly clearAfter?: string
}

function ruleProblem(r: unknown): string | undefined {
  if (!isObject(r)) return 'is not an object'
  for (const name of ['condition', 'reason'] as const)
    if (r[name] === undefined) return `${name} is missing`
    else if (typeof r[name] !== 'string' || !TYPE.test(r[name]))
      return `${name} is not a word such as ${EXAMPLES[name]}`
  if (typeof r['pattern'] !== 'string') return 'pattern is missing'
  if (r['clearPattern'] !== undefined && typeof r['clearPattern'] !== 'string') return 'clearPattern is not a string'
  if (
    r['clearAfter'] !== undefined &&
    (typeof r['clearAfter'] !== 'string' || durationMs(r['clearAfter']) === undefined)
  )
    return 'clearAfter is not a duration such as "10m"'
  return (
    logPatternProblem(r['pattern']) ??
    (r['clearPattern'] === undefined ? undefined : logPatternProblem(r['clearPattern']))
  )
}

const ruleOf = ({ condition, reason, pattern, clearPattern, clearAfter }: RawRule): LogRule => ({
  condition,
  reason,
  pattern: compileRegex(pattern),
  clearPattern: clearPattern === undefined ? undefined : compileRegex(clearPattern),
  clearAfterMs: clearAfter === undefined ? undefined : durationMs(clearAfter),
})
