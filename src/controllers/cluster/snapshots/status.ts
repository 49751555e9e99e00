// The snapshot schedule in the status: times, a condition, and one event when none was verified for too long. Pure.
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { findCondition, type WantedCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { fit } from '#runtime/waiting.ts'
import type { ClusterAction, ClusterPlan } from '../actions.ts'
import { type Schedule, scheduleOf } from './schedule.ts'
import { type Seen } from '../seen.ts'

type ScheduleStatus = NonNullable<NonNullable<ClusterStatus>['snapshotSchedule']>
type Results = readonly ActionResult<ClusterAction>[]

/** Empty for a Cluster that ended or is being deleted: its final snapshot is not part of the schedule. */
export function scheduleStatus(
  seen: Seen,
  { phase }: Pick<ClusterPlan, 'phase'>,
  results: Results,
  now: number,
): { readonly status: ScheduleStatus; readonly condition: WantedCondition } | undefined {
  const schedule = scheduleOf(seen, now)
  if (schedule === undefined || isBeingDeleted(seen.cluster) || phase === 'Expired') return undefined
  const { nextAt, since, verified } = schedule
  const message = now < nextAt ? undefined : whyNot(seen, phase, results)
  return {
    status: {
      since: timestamp(since),
      ...(verified !== undefined && { last: verified.name, lastAt: verified.takenAt }),
      nextAt: timestamp(nextAt),
      ...(message !== undefined && { message: fit(message) }),
    },
    condition: conditionOf(seen.cluster, schedule, message),
  }
}

const conditionOf = (
  { metadata }: Cluster,
  { isOverdue, verified, overdueAt }: Schedule,
  message = 'it is due',
): WantedCondition => {
  const last = verified === undefined ? 'no snapshot was opened yet' : `${verified.name} is of ${verified.takenAt}`
  return {
    type: 'SnapshotsCurrent',
    observedGeneration: metadata.generation ?? 0,
    status: isOverdue ? 'False' : 'True',
    reason: isOverdue ? 'SnapshotOverdue' : 'SnapshotVerified',
    message: isOverdue ? fit(`${last}; the next one was due before ${timestamp(overdueAt)}: ${message}`) : last,
  }
}

/** Why the due snapshot has not been taken yet. */
function whyNot({ unanswered, plane }: Seen, phase: string, results: Results): string | undefined {
  if (unanswered !== undefined) return `the host does not answer: ${unanswered}`
  const own = results.find((r) => r.action.kind === 'ScheduledSnapshot')
  if (own === undefined && phase === 'Ready' && plane?.state === 'Running') return undefined
  if (own === undefined)
    return plane?.state === 'Running' ? `the Cluster is ${phase}` : `the control plane is ${plane?.state ?? 'missing'}`
  const { outcome } = own
  return outcome.kind === 'Applied'
    ? (outcome.object as { readonly problem: string | undefined }).problem
    : 'what comes before it did not succeed'
}

export function announcedOverdue(seen: Seen, plan: ClusterPlan, now: number): ClusterPlan {
  const schedule = scheduleOf(seen, now)
  if (schedule?.isOverdue !== true || isBeingDeleted(seen.cluster) || plan.phase === 'Expired') return plan
  if (findCondition(seen.cluster.status?.conditions, 'SnapshotsCurrent')?.reason === 'SnapshotOverdue') return plan
  const { verified, overdueAt } = schedule
  const last = verified === undefined ? 'none was opened yet' : `the last one is ${verified.name}`
  const message = `no snapshot was taken and opened by ${timestamp(overdueAt)}; ${last}`
  return { ...plan, notices: [...plan.notices, { reason: 'SnapshotOverdue', message, severity: 'Warning' }] }
}
