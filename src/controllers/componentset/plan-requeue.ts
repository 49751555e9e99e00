// Decides when to reconcile next if nothing changes: when soaks and holds end, windows open, permits need renewal, or deadlines pass.
import { freshCopyAgainAt, isPastFreshCopies } from '#api/protocol/fresh-copy.ts'
import { isAtWork, isOpen } from './plan-context.ts'
import type { Context } from './plan-context.ts'
import { firstEnd } from '#permits/holds/in-force.ts'
import { isRemote } from './inspection/inspections.ts'
import { InspectionReads } from './inspection/inspection-reads.ts'
import { closedByRefusal } from './members/refused.ts'
import { LEASES } from '#permits/leases.ts'
import { SECRET_REQUEUE_MS, hasSecretRefs } from '#identity/secrets/secret-refs.ts'
import type { Slice } from './seen.ts'
import { emptyUntil } from './reporting/wait.ts'

/** While a slice runs: often enough to renew its permit twice before it expires. */
const AT_WORK_MS = (LEASES.renewed * 1_000) / 4
/** For waits that depend on time alone. This is precise enough for deadlines of minutes. */
const WAITING_MS = 30_000
/** Queue timers can fire slightly early or late. This delay makes sure the deadline has passed. */
const AFTER_MS = 50

export function nextReconcileMs(
  { seen, members, now, opening, tracks, refusals }: Context,
  slices: readonly Slice[],
): number | undefined {
  const moments: number[] = []
  const hasRemote = seen.set.spec.rollout.inspections?.some((i) => isRemote(i) || i.podProbe !== undefined) === true
  for (const slice of slices.filter(isOpen)) {
    if (isAtWork(slice)) moments.push(now + AT_WORK_MS)
    else moments.push(now + (hasRemote && slice.phase !== 'Planned' ? InspectionReads.againMs : WAITING_MS))
    if (slice.phase === 'Soaking') moments.push(Date.parse(slice.soakUntil ?? ''))
  }
  if (hasSecretRefs(seen.set.spec.components)) moments.push(now + SECRET_REQUEUE_MS)
  for (const { orders, hasFreshCopy } of members)
    for (const order of hasFreshCopy ? orders : [])
      if (order?.fresh !== undefined && isPastFreshCopies(order, now)) moments.push(freshCopyAgainAt(order))
  // Any hold: a hold on a Node or a MachineSet can also keep machines out of the rollout.
  const end = firstEnd(seen.holds, now)
  if (end !== undefined) moments.push(end)
  const emptyEnd = members.length === 0 ? emptyUntil(seen.set.status?.waitingFor) : Infinity
  if (emptyEnd > now) moments.push(emptyEnd)
  if (members.length > 0) moments.push(now + refusals.againInMs)
  for (const { component } of tracks) {
    for (const isRecovery of [false, true]) {
      const closed = closedByRefusal(seen, refusals, { component, isRecovery })
      if (closed !== undefined) moments.push(now + closed.forMs)
    }
  }
  if (opening.nextAt !== undefined) moments.push(opening.nextAt)
  const known = moments.filter(Number.isFinite)
  return known.length === 0 ? undefined : Math.max(AFTER_MS, Math.min(...known) - now + AFTER_MS)
}
