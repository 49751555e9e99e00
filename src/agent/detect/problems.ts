// Pure: what one source found about the node (`sources.ts` combines the sources). A component problem stays until the component was healthy for a while.
// A log problem stays until its rule ends it or the node reboots.
import type { ComponentProblem } from './component-problems.ts'
import { Steps } from '#api/agent-config/log-pattern.ts'
import { COMPONENT_UNHEALTHY, componentConditionType, MAX_CONDITION_MESSAGE } from '#api/node-conditions.ts'
import type { LogRule } from '#api/agent-config/log-rules.ts'
import type { Regex } from '#lib/regex.ts'
import { withUnnamed } from '#nodes/named-devices.ts'

export interface Problem {
  readonly type: string
  readonly isTrue: boolean
  /** Unknown: the deciding check cannot run. */
  readonly isUnknown?: boolean
  readonly reason: string
  readonly message: string
  /** Wall clock: start of the current status. */
  readonly since: number
  /** Monotonic clock: last observed. */
  readonly seenAt: number
  /** True: survives a restart of the agent and ends with the next boot. */
  readonly isKept: boolean
}

export type Problems = ReadonlyMap<string, Problem>

export interface Now {
  readonly wall: number
  readonly mono: number
}

/** More types than this are a mistake in the rules. */
export const MAX_TYPES = 64

const put = (problems: Problems, problem: Problem): Problems => {
  const old = problems.get(problem.type)
  if (old === undefined && problems.size >= MAX_TYPES) return problems
  const isSame = old?.isTrue === problem.isTrue && (old.isUnknown ?? false) === (problem.isUnknown ?? false)
  const since = isSame ? old.since : problem.since
  return new Map(problems).set(problem.type, { ...problem, since, message: cutToWhole(problem.message) })
}

/** Drops half a character at the end. */
const cutToWhole = (text: string): string => text.slice(0, MAX_CONDITION_MESSAGE).replace(/[\ud800-\udbff]$/, '')

const HEALTHY = 'AllComponentsHealthy'

/** Takes all components at once: updates the summary, and one condition for each component that ever had a problem. */
export function withComponents(
  problems: Problems,
  found: ReadonlyMap<string, ComponentProblem | undefined>,
  now: Now,
  clearAfterMs: number,
): Problems {
  let next = problems
  const bad: string[] = []
  for (const [component, problem] of found) {
    const type = componentConditionType(component)
    const old = problems.get(type)
    if (problem !== undefined) {
      next = put(next, { ...problem, type, isTrue: true, since: now.wall, seenAt: now.mono, isKept: false })
      bad.push(`${component}: ${problem.message}`)
    } else if (old?.isTrue === true && now.mono - old.seenAt < clearAfterMs) bad.push(`${component}: ${old.message}`)
    else if (old?.isTrue === true)
      next = put(next, {
        ...old,
        isTrue: false,
        reason: 'ComponentHealthy',
        message: 'healthy again',
        since: now.wall,
      })
  }
  for (const [type, p] of problems) {
    const component = type.slice(componentConditionType('').length)
    const isOfComponent = type.startsWith(componentConditionType(''))
    if (isOfComponent && p.isTrue && !found.has(component))
      next = put(next, {
        ...p,
        isTrue: false,
        reason: 'ComponentGone',
        message: 'no longer installed',
        since: now.wall,
      })
  }
  const isTrue = bad.length > 0
  const base = { type: COMPONENT_UNHEALTHY, since: now.wall, seenAt: now.mono, isKept: false, isTrue }
  return put(
    next,
    isTrue
      ? { ...base, reason: 'ComponentUnhealthy', message: bad.join('; ') }
      : { ...base, reason: HEALTHY, message: 'all components are healthy' },
  )
}

/** When the result of `withComponents` may change without new input; undefined: never. */
export function nextClearMs(problems: Problems, now: Now, clearAfterMs: number): number | undefined {
  const waits = [...problems.values()].flatMap((p) =>
    p.isTrue && p.type.startsWith(componentConditionType('')) ? [Math.max(0, p.seenAt + clearAfterMs - now.mono)] : [],
  )
  return waits.length === 0 ? undefined : Math.min(...waits)
}

/** The result of a monitor or a detector for its own condition. */
export interface Finding {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  /** True: survives a restart of the agent and ends with the next boot. */
  readonly isKept: boolean
}

export const withFinding = (
  problems: Problems,
  type: string,
  { status, reason, message, isKept }: Finding,
  now: Now,
): Problems =>
  put(problems, {
    type,
    isTrue: status === 'True',
    ...(status === 'Unknown' ? { isUnknown: true } : {}),
    reason,
    message,
    since: now.wall,
    seenAt: now.mono,
    isKept,
  })

/** Records that the condition was observed again. */
export function withSighting(problems: Problems, type: string, now: Now): Problems {
  const old = problems.get(type)
  return old === undefined ? problems : new Map(problems).set(type, { ...old, seenAt: now.mono })
}

/** Ends a condition that was not confirmed for this long, and gives it this reason and message. */
export interface Expiry {
  readonly condition: string
  readonly clearAfterMs: number | undefined
  readonly healthy?: { readonly reason: string; readonly message: string }
}

/** `steps` bounds the total cost of all rules for this line. */
export function withLine(
  problems: Problems,
  rules: readonly LogRule[],
  line: string,
  now: Now,
  steps = new Steps(),
): Problems {
  let next = problems
  const isIn = (regex: Regex): boolean => steps.spend(regex, line) && regex.test(line)
  for (const { pattern, clearPattern, condition, reason } of rules) {
    const old = next.get(condition)
    if (clearPattern !== undefined && old?.isTrue === true && isIn(clearPattern))
      next = put(next, { ...old, isTrue: false, reason: 'Cleared', message: line.trim(), since: now.wall })
    else if (isIn(pattern))
      next = put(next, {
        type: condition,
        isTrue: true,
        reason,
        message: withUnnamed(condition, line.trim(), old?.isTrue === true ? [old.message] : []),
        since: now.wall,
        seenAt: now.mono,
        isKept: true,
      })
  }
  return next
}

const SILENT = { reason: 'Silent', message: 'no matching log line in that time' }

/** Ends conditions that no line has confirmed within their time. */
export function withoutSilent(problems: Problems, rules: readonly Expiry[], now: Now): Problems {
  let next = problems
  for (const { condition, clearAfterMs, healthy = SILENT } of rules) {
    const p = next.get(condition)
    if (p?.isTrue !== true || clearAfterMs === undefined || now.mono - p.seenAt < clearAfterMs) continue
    next = put(next, { ...p, ...healthy, isTrue: false, since: now.wall })
  }
  return next
}
