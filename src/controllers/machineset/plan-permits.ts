// Decides what happens to the permits that a set requested, and when to reconcile the set next. Pure.
import { isBeingDeleted, uidOf } from '#api/schema/object-meta.ts'
import { endsIn } from '#permits/holds/in-force.ts'
import { renewalOf, reportOf } from '#permits/holder.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import { permitAnswer } from '#permits/permits.ts'
import { type Extra, type MachineSetAction, type MachineSetPlan, noticeOf } from './actions.ts'
import { type Seen, aliveOf, isForTemplate, readySinceMs } from './seen.ts'
import { templatePermit } from './template/plan.ts'

/** A machine counts as available after it has been Ready for this long. */
export const AVAILABLE_AFTER_MS = 10_000
/** An open permit must be renewed even if nothing changes. */
const RENEWAL_REQUEUE_MS = 10_000

/** Open permits are renewed while their machine is being deleted, ended once it is deleted, and released if it may stay. */
export function withPermits(
  seen: Seen,
  actions: readonly MachineSetAction[],
  extra: Extra,
  now: number,
  staying: ReadonlySet<string> = new Set(),
): MachineSetPlan {
  const mine = new Map(seen.machines.map((m) => [uidOf(m), m]))
  const wanted = new Set(
    actions.flatMap((a) =>
      a.kind === 'Delete' ? [uidOf(a.machine)] : a.kind === 'RequestPermit' ? a.request.targets.map((t) => t.uid) : [],
    ),
  )
  const isShrinking = isBeingDeleted(seen.set) || aliveOf(seen).length > seen.set.spec.replicas
  const renewals = seen.permits.flatMap((permit): readonly PermitAction[] => {
    const uid = permit.spec.targets[0]?.uid ?? ''
    if (permitAnswer(permit, uid).kind === 'Ended') return []
    const machine = mine.get(uid) ?? seen.elsewhere?.get(uid)
    if (machine === undefined) return reportOf(permit, uid, 'Succeeded', 'the machine was deleted')
    if (isForTemplate(permit)) return templatePermit(seen, permit, machine, now)
    const isOthers = !mine.has(uid) && !isBeingDeleted(machine)
    const mayStay = isOthers || staying.has(uid) || (!isBeingDeleted(machine) && !wanted.has(uid) && !isShrinking)
    return mayStay
      ? reportOf(permit, uid, 'Released', 'the machine is kept')
      : renewalOf(permit, now, 'its machine is still being removed')
  })
  // After its last action, a set that is being deleted no longer knows a machine, or itself. So renewals come first.
  const all = isBeingDeleted(seen.set) ? [...renewals, ...actions] : [...actions, ...renewals]
  const hasOpen = seen.permits.some((p) => p.status?.phase === 'Granted')
  const { hold } = seen
  const dueMs = [
    ...(hold === undefined ? [] : [endsIn(hold, now)]),
    ...(hasOpen ? [RENEWAL_REQUEUE_MS] : []),
    ...untilAvailable(seen, now),
    ...(extra.waiting?.requeueMs === undefined ? [] : [extra.waiting.requeueMs]),
  ]
  return {
    actions: all,
    notices: all.flatMap(noticeOf),
    ...(dueMs.length > 0 && { requeueAfter: Math.min(...dueMs) }),
    ...extra,
  }
}

/** No event announces that a machine has been Ready long enough. */
function untilAvailable(seen: Seen, now: number): number[] {
  return aliveOf(seen).flatMap((m) => {
    const left = (readySinceMs(m) ?? -Infinity) + AVAILABLE_AFTER_MS - now
    return left > 0 && Number.isFinite(left) ? [left] : []
  })
}
