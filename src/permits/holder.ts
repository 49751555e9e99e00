// The requester's side of one permit as a state machine: ask, wait, use, renew, ask again, release. Pure. It keeps no state: everything comes from permits.
//
// After a restart or a lost reply: the permit is found, or requested again under the same name.
// After an expired lease or a revocation: the disruption stops, and another permit is requested under the next name.
// After a permit was deleted: another one is requested. Results for the deleted one count as reported, and the Defender watches the target instead.
// After the target changed: a permit for another UID grants nothing, and its slot is released.
// After a clock was set back or far ahead: a lease is renewed once more than needed. Waits after a refusal use a stopwatch (EndedPermits).
// After a refusal: ask again later, and much later if it was for this target.
import { isForAny } from '#api/protocol/permit-allows.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ASK_AGAIN_MS, askAgainInMs, endedForMs, type EndedFor, ownRefusals } from './ended-for.ts'
import type { PermitAction, RenewAction, ReportAction, RequestAction } from './permit-actions.ts'
import { type PermitWait, UNDECIDED, endedWait, permitWait } from './permit-wait.ts'
import { type PermitRequest, type TargetResult, isOpen, isRenewalDue, permitAnswer } from './permits.ts'

/** One disruption of one target. Another target or another change needs another permit. */
export interface Need {
  /** Name of the next permit, from `nextPermitName`: two requests under one name give one permit. */
  readonly permit: string
  readonly request: PermitRequest
  /** Why the permit is requested now. Default: the reason in the request. */
  readonly reason?: string
}

/** What the requester read. */
export interface Known {
  /** Permits requested for this disruption. */
  readonly own: readonly OperationPermit[]
  /** Permits of other requesters that also work while they are open. Their requesters renew and report them. */
  readonly others?: readonly OperationPermit[]
  readonly endedFor: EndedFor
}

export type Holding =
  /** The disruption may start once `underPermit` has read the permit again. */
  (OfPermit & { readonly kind: 'Granted' }) | NotGranted

export type NotGranted =
  | { readonly kind: 'Ask'; readonly wait: PermitWait; readonly action: RequestAction }
  | (OfPermit & { readonly kind: 'Wait'; readonly wait: PermitWait })
  /** The last permit ended, and it is too early for another one. */
  | { readonly kind: 'AskLater'; readonly wait: PermitWait; readonly permit: OperationPermit; readonly afterMs: number }

interface OfPermit {
  readonly permit: OperationPermit
  /** If false, another requester renews and reports it. */
  readonly isOwn: boolean
  /** Other open permits for the same disruption, requested because of a stale cache. */
  readonly surplus: readonly ReportAction[]
}

/** What to do now: request the permit, renew it when due, and release surplus ones. */
export function actionsOf(held: Holding, now: number, why?: string): readonly PermitAction[] {
  if (held.kind === 'Ask') return [held.action]
  if (held.kind === 'AskLater') return []
  return [...(held.isOwn ? renewalOf(held.permit, now, why) : []), ...held.surplus]
}

/** How long to wait before another request, depending on how the last permit ended. */
export interface Pace {
  /** It has a result for the target. */
  readonly usedMs: number
  /** Refused by a gate that treats all targets alike, such as a budget. A `retryAfter` of the Defender takes precedence. */
  readonly refusedMs: number
  /** Refused for this target: only a change of the policy or the target changes the answer. */
  readonly ownMs: number
  /** Expired, revoked, or released unused. */
  readonly lapsedMs: number
}

/** For one request per machine. A lapsed permit is requested again at once: while its cause lasts, the new request waits at the gate and shows it. */
const PACE: Pace = { usedMs: 0, refusedMs: ASK_AGAIN_MS, ownMs: 600_000, lapsedMs: 0 }

/** For one request that a person waits for. When a grant lapses, its requester undoes the preparation. It must not do and undo that in a loop. */
export const PACE_OF_ONE: Pace = { ...PACE, ownMs: ASK_AGAIN_MS, lapsedMs: ASK_AGAIN_MS }

export function holdPermit(need: Need, known: Known, pace: Pace = PACE): Holding {
  const { others = [], endedFor } = known
  const { operations, targets } = need.request
  const target = targets[0]?.uid ?? ''
  // Another program may use the name for something else. Such a grant allows nothing here, and waiting for it would never end.
  const own = known.own.filter((p) => isForAny(p, operations))
  const open = [...own, ...others].filter((p) => permitAnswer(p, target).kind !== 'Ended')
  const granted = open.find((p) => permitAnswer(p, target).kind === 'Granted')
  const permit = granted ?? open[0]
  if (permit !== undefined) {
    const surplus = own
      .filter((p) => p !== permit && open.includes(p))
      .flatMap((p) => reportOf(p, target, 'Released', 'another permit serves'))
    const of = { permit, isOwn: own.includes(permit), surplus }
    return granted === undefined
      ? { ...of, kind: 'Wait', wait: permitWait(permit, target) }
      : { ...of, kind: 'Granted' }
  }
  const ended = own.map((permit) => ({ permit, afterMs: againInMs(permit, target, endedFor, pace) }))
  const [last] = ended.toSorted((a, b) => b.afterMs - a.afterMs)
  if (last !== undefined && last.afterMs > 0) return { kind: 'AskLater', ...last, wait: endedWait(last.permit, target) }
  const { request, reason = request.reason } = need
  return { kind: 'Ask', wait: UNDECIDED, action: { kind: 'RequestPermit', reason, permit: need.permit, request } }
}

/** Milliseconds until another request may follow a permit that ended for the target. */
function againInMs(permit: OperationPermit, target: string, endedFor: EndedFor, pace: Pace = PACE): number {
  const { spec, status } = permit
  if (!spec.targets.some((t) => t.uid === target)) return 0
  if (Object.hasOwn(spec.results ?? {}, target)) return leftMs(pace.usedMs, permit, endedFor)
  if (status?.phase !== 'Denied') return leftMs(pace.lapsedMs, permit, endedFor)
  return ownRefusals(permit).some((v) => v.target === target)
    ? leftMs(pace.ownMs, permit, endedFor)
    : askAgainInMs(permit, endedFor, pace.refusedMs)
}

const leftMs = (ms: number, permit: OperationPermit, endedFor: EndedFor): number =>
  Math.max(0, ms - endedForMs(permit, endedFor))

/** A permit is renewed as long as its slot is needed, including while the disruption runs. */
export const renewalOf = (
  permit: OperationPermit | undefined,
  now: number,
  reason = 'it is still needed',
): readonly RenewAction[] =>
  permit !== undefined && isRenewalDue(permit, now) ? [{ kind: 'RenewPermit', reason, permit }] : []

/**
 * Frees the slot of a target. Nothing to report if the permit ended, was deleted, or has the result. A target that was never granted is released,
 * whatever happened to it.
 */
export function reportOf(
  permit: OperationPermit | undefined,
  target: string,
  result: TargetResult,
  reason: string,
): readonly ReportAction[] {
  if (permit === undefined || !isOpen(permit) || Object.hasOwn(permit.spec.results ?? {}, target)) return []
  const isGranted = permit.status?.phase === 'Granted'
  return [{ kind: 'ReportResult', reason, permit, target, result: isGranted ? result : 'Released' }]
}

/** Withdraws a waiting request that is no longer needed. If granted later, it would take a slot and rate from others. */
export const withdrawalOf = (
  permit: OperationPermit | undefined,
  target: string,
  reason: string,
): readonly ReportAction[] => (permit?.status?.phase === 'Granted' ? [] : reportOf(permit, target, 'Released', reason))
