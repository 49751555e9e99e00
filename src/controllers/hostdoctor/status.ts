// The status of an event as the host doctor writes it. Pure; equal inputs give equal statuses.
import type { Reason } from '#api/catalogue.ts'
import type { MaintenanceEvent, MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import { phaseOfEvent } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { type WantedCondition, setConditions } from '#kube/conditions.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { DoctorAction, DoctorPlan, StatusChange, Waiting } from './actions.ts'
import { defined } from '#lib/defined.ts'

const MAX_SENTENCE = 200

const REMOVED_BY: ReadonlySet<string> = new Set(['DeleteEvent', 'ReleaseRecord'])

export function statusOf(
  event: MaintenanceEvent,
  plan: DoctorPlan,
  results: readonly ActionResult<DoctorAction>[],
  now: number,
): MaintenanceStatus | undefined {
  // The event was just deleted: write nothing.
  if (results.some((r) => REMOVED_BY.has(r.action.kind) && r.outcome.kind === 'Applied')) return undefined
  const { waitingFor: oldWaiting, ...kept } = event.status ?? {}
  const failed = results.find((r) => r.outcome.kind !== 'Applied' && r.outcome.kind !== 'NotTried')
  // The permit's name is recorded even if the request failed. Everything else depends on which actions succeeded.
  const change: StatusChange =
    failed === undefined ? { ...plan.change, ...answered(event, results) } : permitOf(plan.change)
  const next = withoutUndefined({ ...kept, ...change, phase: change.phase ?? phaseOfEvent(event) })
  // An action that another write overtook is retried at once with fresh data. It is not reported: otherwise two leaders would keep rewriting the
  // status.
  const trouble = failed !== undefined && !OVERTAKEN.has(failed.outcome.kind) ? failed : undefined
  const waiting: Waiting | undefined =
    trouble === undefined
      ? plan.waiting
      : { predicate: 'ReconcileFailed', seen: `${trouble.action.kind} did not succeed`, unblock: 'the retry succeeds' }
  return {
    ...next,
    ...defined({ observedGeneration: event.metadata.generation }),
    phaseSince: next.phaseSince ?? timestamp(now),
    ...(waiting !== undefined && { waitingFor: waitingOf(waiting, oldWaiting, now) }),
    conditions: setConditions(event.status?.conditions, conditionsOf(next, waiting), now),
  }
}

const OVERTAKEN: ReadonlySet<string> = new Set(['Conflict', 'Stale', 'Outdated'])

const permitOf = (change: StatusChange = {}): StatusChange =>
  change.permitRef === undefined ? {} : { permitRef: change.permitRef }

function answered(event: MaintenanceEvent, results: readonly ActionResult<DoctorAction>[]): StatusChange {
  const done = results.find((r) => r.action.kind === 'Respond' || r.action.kind === 'Reboot')
  const given = event.status?.answer
  if (done === undefined || given === undefined || done.outcome.kind !== 'Applied') return {}
  return { answer: { ...given, outcome: done.outcome.object === 'Ordered' ? 'Ordered' : 'Refused' } }
}

const withoutUndefined = (status: StatusChange): MaintenanceStatus =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as MaintenanceStatus

function waitingOf(
  { predicate, seen, unblock }: Waiting,
  old: MaintenanceStatus['waitingFor'],
  now: number,
): NonNullable<MaintenanceStatus['waitingFor']> {
  const since = old?.predicate === predicate ? old.since : timestamp(now)
  return { predicate, seen: seen.slice(0, MAX_SENTENCE), since, unblock: unblock.slice(0, MAX_SENTENCE) }
}

function conditionsOf(
  { phase, message = '' }: MaintenanceStatus,
  waiting: Waiting | undefined,
): readonly WantedCondition[] {
  const of = (type: string, is: boolean, reason: Reason, text: string): WantedCondition => ({
    type,
    status: is ? 'True' : 'False',
    reason,
    message: text.slice(0, MAX_SENTENCE),
  })
  const isFailed = phase === 'Failed'
  const isAtRest = phase === 'Announced' || phase === 'Done' || phase === 'Cancelled'
  const text = waiting?.seen ?? message
  const working = waiting?.predicate ?? 'Progressing'
  return [
    of('Ready', isAtRest, isAtRest ? 'AsDeclared' : isFailed ? 'MaintenanceFailed' : 'MaintenanceUnderWay', text),
    of('Reconciling', !isAtRest && !isFailed, isAtRest || isFailed ? 'AsDeclared' : working, text),
    of(
      'Stalled',
      isFailed,
      isFailed ? 'MaintenanceFailed' : 'Progressing',
      isFailed ? message : 'nothing to do for people',
    ),
  ]
}
