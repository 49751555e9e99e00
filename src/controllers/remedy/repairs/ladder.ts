// Where a fault is on the ladder, given the earlier repairs: a new incident, the next rung, another attempt, or the end.
import type { NodeRemedierSpec } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Reason } from '#api/catalogue.ts'
import { isRescue, operationName } from '#api/protocol/operations.ts'
import { assertNever } from '#lib/errors.ts'
import { parseDuration } from '#lib/duration.ts'
import { finishedAt, hasStarted, isOpen } from './history.ts'
import { incidentId } from './incident.ts'

export type LadderStep =
  | {
      readonly kind: 'Try'
      readonly incident: string
      readonly rung: number
      readonly attempt: number
      readonly why: string
      readonly notBefore: number
      /** Rungs that were passed over, and why. */
      readonly skipped?: readonly string[]
      /** A user requested it. */
      readonly isAsked?: boolean
    }
  | { readonly kind: 'Open'; readonly job: string }
  /** Nothing more is done about this fault until it clears. */
  | {
      readonly kind: 'Over'
      readonly reason: Extract<Reason, 'LadderExhausted' | 'HoldAbort' | 'DryRunOnly'>
      readonly message: string
    }

export interface LadderQuestion {
  readonly rule: string
  readonly nodeUid: string
  readonly spec: NodeRemedierSpec
  /** First recorded time that the rule was true. */
  readonly since: number
  /** The newest job of this rule on this node, of the same sort. */
  readonly last: RemedyOperationJob | undefined
  /** Why rescues do nothing on this node; undefined: they may. */
  readonly noRescue?: string
}

type Ladder = NodeRemedierSpec['ladder']

interface Reachable {
  /** Undefined: none is left. */
  readonly rung: number | undefined
  readonly skipped: readonly string[]
}

/** The first rung from `from` on that can be done here. A rung that only rescues cannot without a key: it is passed over, and no attempt is counted. */
export function reachable(ladder: Ladder, from: number, noRescue: string | undefined): Reachable {
  const skipped: string[] = []
  for (const [rung, { operations }] of ladder.entries()) {
    if (rung < from) continue
    if (noRescue === undefined || !operations.every(isRescue)) return { rung, skipped }
    skipped.push(`rung ${rung} (${operations.map(operationName).join(', ')}): ${noRescue}`)
  }
  return { rung: undefined, skipped }
}

const withSkipped = (skipped: readonly string[]): { readonly skipped?: readonly string[] } =>
  skipped.length === 0 ? {} : { skipped }

/** The delay before a retry after a temporary failure. */
const RETRY_MS = 30_000
/** Incidents are distinguished by timestamps of whole seconds. */
const SECOND_MS = 1_000
/** Limit of the job kind. */
const MOST_ATTEMPTS = 6

export function ladderStep({ rule, nodeUid, spec, since, last, noRescue }: LadderQuestion): LadderStep {
  const firstFrom = (rung: number) => reachable(spec.ladder, rung, noRescue)
  if (last === undefined) return fresh(since, 0, since, 'first observed')
  if (isOpen(last)) return { kind: 'Open', job: last.metadata.name ?? '' }
  const { incident, rung, attempt } = last.spec
  const ended = finishedAt(last)
  // Timestamps have whole seconds: a fault that started in the second in which the job ended may be new.
  const isSameFault = since < ended
  const cooledDown = ended + parseDuration(spec.cooldown)
  const relapse = (from: number) =>
    since - ended <= parseDuration(spec.relapseWindow)
      ? fresh(since, from, cooledDown, 'fault returned within the relapse window')
      : fresh(since, 0, cooledDown, 'fault returned')
  const outcome = last.status?.outcome ?? 'Permanent'
  switch (outcome) {
    case 'Succeeded':
      // The fault was verified as cleared and is there again: it came back, whatever an old record shows.
      return isSameFault ? again(ended, rung + 1, cooledDown) : relapse(rung + 1)
    case 'Superseded':
      // Nothing was done: the same rung, unless it was long ago.
      return isSameFault ? again(ended, rung, cooledDown) : relapse(rung)
    case 'Escalated':
      return climb('the fault is still present')
    case 'Transient':
      return retried()
    case 'Permanent':
      return isSameFault
        ? over('LadderExhausted', 'a repair failed permanently; needs manual intervention')
        : relapse(rung + 1)
    case 'Cancelled': {
      if (!isSameFault) return relapse(rung)
      return last.spec.dryRun
        ? over('DryRunOnly', 'the dry run has finished')
        : over('HoldAbort', 'the repair was aborted by a user')
    }
    default:
      return assertNever(outcome)
  }

  function fresh(firstSeen: number, from: number, notBefore: number, why: string): LadderStep {
    const id = incidentId(nodeUid, rule, firstSeen)
    const { rung: to, skipped } = lastOr(from)
    if (to === undefined) return noRungLeft(skipped)
    const step = { kind: 'Try', incident: id, rung: to, why, notBefore, ...withSkipped(skipped) } as const
    if (id !== last?.spec.incident) return { ...step, attempt: 1 }
    // The fault came, went and came back within one second. Nothing could be created under the finished job's name.
    const attempt = to === last.spec.rung ? last.spec.attempt + 1 : 1
    if (attempt <= MOST_ATTEMPTS) return { ...step, attempt }
    return fresh(firstSeen + SECOND_MS, from, Math.max(notBefore, firstSeen + SECOND_MS), why)
  }

  function again(firstSeen: number, from: number, notBefore: number): LadderStep {
    return fresh(firstSeen, from, notBefore, 'fault returned')
  }

  function climb(why: string): LadderStep {
    if (!isSameFault) return relapse(rung + 1)
    const next = firstFrom(rung + 1)
    if (next.rung === undefined)
      return over(
        'LadderExhausted',
        'ladder exhausted: the last rung did not clear the fault; needs manual intervention',
      )
    return {
      kind: 'Try',
      incident,
      rung: next.rung,
      attempt: 1,
      why,
      notBefore: ended,
      ...withSkipped(next.skipped),
    }
  }

  /** A fault that returns after the last rung starts there again, or at the last one before it that can be done. */
  function lastOr(rung: number): Reachable {
    const found = firstFrom(Math.min(rung, spec.ladder.length - 1))
    if (found.rung !== undefined) return found
    const before = spec.ladder.findLastIndex((_, n) => firstFrom(n).rung === n)
    return { ...found, rung: before < 0 ? undefined : before }
  }

  function noRungLeft(skipped: readonly string[]): LadderStep {
    return over('LadderExhausted', `nothing can be done here: ${skipped.join('; ')}; needs manual intervention`)
  }

  function retried(): LadderStep {
    const started = last !== undefined && hasStarted(last)
    const most = started ? Math.min(1 + (spec.ladder[rung]?.retries ?? 0), MOST_ATTEMPTS) : MOST_ATTEMPTS
    if (attempt < most) {
      const pause = started ? RETRY_MS : Math.max(RETRY_MS, parseDuration(spec.cooldown))
      return { kind: 'Try', incident, rung, attempt: attempt + 1, why: 'retry', notBefore: ended + pause }
    }
    // A repair that never started proves nothing about the rung. If no permit is granted, a harsher rung does not help.
    return started
      ? climb('no attempts left on this rung')
      : over('LadderExhausted', 'no permit was granted; needs manual intervention')
  }

  function over(reason: Extract<LadderStep, { kind: 'Over' }>['reason'], message: string): LadderStep {
    return { kind: 'Over', reason, message }
  }
}
