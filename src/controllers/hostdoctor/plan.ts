// Decides the next transition of one maintenance event along its protocol: schedule, request, drain, answer, stand off, verify, clean up. Pure.
import { type MaintenanceEvent, PEOPLE } from '#api/kinds/maintenance-event.ts'
import {
  type MaintenanceMove,
  maintenanceTable,
  nextMaintenancePhase,
  type MaintenancePhase,
} from '#api/protocol/maintenance.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { isOver, isOverrun, leadMs, phaseOfEvent, plannerOf, takesHostAway } from '#nodes/faults/maintenance.ts'
import { assertNever } from '#lib/errors.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { openingOf } from '#permits/windows.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { Notice } from '#runtime/reconcile-with.ts'
import type { DoctorAction, DoctorPlan, StatusChange } from './actions.ts'
import { OPEN_AT_SOURCE, STABLE_MS, VERIFY_MS, factsOf, isWell } from './plan-facts.ts'
import { isHeldPermit, planPermit, reportOf, renewalOf, straysBack, withdrawalOf } from './plan-permit.ts'
import { planAnswer, planPostponement, wantedAnswer } from './plan-answer.ts'
import { nextStart, preparationOf } from './plan-schedule.ts'
import { type Seen, cordonOwner } from './seen.ts'
import { timeOf } from './notices/time-of.ts'

/** Event records are kept this long after their end. */
export const KEPT_MS = 30 * 86_400_000
/** How often an event that waits for its source is checked: as often as the source is asked. */
const REQUEUE_MS = 60_000
/** For stable times of minutes, this check interval is enough. */
const VERIFY_REQUEUE_MS = 30_000
const LONGEST_WAIT_MS = 3_600_000

/** Order matters: transitions that end an event come before those that start something. */
const MOVES: readonly MaintenanceMove[] = [
  'forget',
  'fail',
  'cancel',
  'end',
  'move',
  'begin',
  'miss',
  'drained',
  'prepare',
  'succeed',
  'overdue',
]

export function plan(seen: Seen, now: number): DoctorPlan {
  const phase = phaseOfEvent(seen.event)
  const strays = straysBack(seen)
  if (strays.length > 0) return { actions: strays, notices: [] }
  if (isBeingDeleted(seen.event)) return planDeleted(seen)
  if (isOver(seen.event)) return planOver(seen, now)
  const facts = factsOf(seen, now)
  for (const move of MOVES) {
    const step = nextMaintenancePhase(phase, move, facts)
    if (step.ok) return moved(seen, move, step.state, now)
  }
  return planWithin(seen, phase, now)
}

/** The phase is written first. Its actions follow once the server has it. */
function moved(seen: Seen, move: MaintenanceMove, to: MaintenancePhase, now: number): DoctorPlan {
  const { event, machine } = seen
  const from = phaseOfEvent(event)
  const at = timestamp(now)
  const isMissed =
    move === 'miss' || (move === 'begin' && from !== 'Prepared' && from !== 'Missed' && !event.spec.unplanned)
  const bootID = machine?.status?.bootID
  const isApproved = isHeldPermit(seen) && seen.permit?.status?.approvedBy !== undefined
  const isEnd = (maintenanceTable.terminal as readonly string[]).includes(to)
  const change: StatusChange = {
    phase: to,
    phaseSince: at,
    message: MESSAGES[move](seen).slice(0, 200),
    ...(isMissed && event.status?.missedAt === undefined && { missedAt: at }),
    ...((to === 'Preparing' || to === 'Missed' || (to === 'InProgress' && event.status?.bootID === undefined)) &&
      bootID !== undefined && { bootID }),
    ...(to === 'Prepared' && { drainedAt: at }),
    ...(isApproved && { approvedBy: seen.permit?.status?.approvedBy }),
    // Values for the old time: nothing was requested, drained, missed or answered for the new one.
    ...(to === 'Announced' && {
      approvedBy: undefined,
      startAt: undefined,
      plannedFor: undefined,
      bootID: undefined,
      drainStartedAt: undefined,
      drainedAt: undefined,
      missedAt: undefined,
      answer: undefined,
    }),
    ...(to === 'Verifying' && { healthySince: undefined }),
    ...(isEnd && { endedAt: at }),
  }
  return { actions: [], notices: noticesOf(seen, to, MESSAGES[move](seen), isMissed), change }
}

const MESSAGES: Readonly<Record<MaintenanceMove, (seen: Seen) => string>> = {
  forget: ({ event }) => `machine ${event.spec.machine} was deleted or has another host`,
  fail: () => 'its source reports that it failed',
  cancel: ({ event, twin }) =>
    event.spec.state === 'Cancelled'
      ? `${event.spec.endedBy ?? 'its source'} cancelled it`
      : twin === undefined
        ? 'its source no longer lists it, twice in a row'
        : `maintenanceevent/${twin} is the same event`,
  end: ({ event: { spec } }) =>
    spec.endedBy === undefined
      ? 'it is over at its source; the machine must be well again'
      : `${spec.endedBy} ended it; the machine must be well again`,
  move: ({ event }) => `moved to ${event.spec.notBefore ?? 'another time'}`,
  begin: () => 'the host is being worked on; repairs stand off',
  miss: () => 'notBefore passed before the node was drained',
  drained: ({ permit }) =>
    permit?.status?.approvedBy === undefined
      ? 'the node is drained'
      : `the node is drained, as ${permit.status.approvedBy.join(', ')} approved`,
  prepare: () => 'the preparation starts',
  succeed: () => 'the machine is well again',
  overdue: () => 'the machine is not well again; repairs take over',
}

/** Reports every step that changes a node, and every end, with the users responsible. */
function noticesOf({ event }: Seen, to: MaintenancePhase, message: string, isMissed: boolean): readonly Notice[] {
  const notice = (reason: string, message: string, severity: Notice['severity'] = 'Warning'): Notice => ({
    reason,
    message: `${event.spec.kind} of the host of ${event.spec.machine} by ${plannerOf(event.spec)}: ${message}`,
    severity,
    about: event,
  })
  return [
    ...(isMissed ? [notice('MaintenanceMissed', 'it began before the node was drained')] : []),
    ...(to === 'Preparing' || to === 'Prepared' ? [notice('MaintenancePrepared', message, 'Normal')] : []),
    ...(to === 'Cancelled' || to === 'Verifying' ? [notice('MaintenanceEnded', message, 'Normal')] : []),
    ...(to === 'InProgress' ? [notice('MaintenanceUnderWay', 'repairs of the node stand off', 'Normal')] : []),
    ...(to === 'Failed' ? [notice('MaintenanceFailed', 'the machine is not well again')] : []),
  ]
}

function planWithin(seen: Seen, phase: MaintenancePhase, now: number): DoctorPlan {
  switch (phase) {
    case 'Announced':
      return planAnnounced(seen, now)
    case 'Preparing':
      return planPermit(seen, now)
    case 'Prepared':
      return recordoned(seen, planAnswer(seen, now, REQUEUE_MS))
    case 'InProgress':
      return recordoned(seen, planUnderWay(seen, now))
    case 'Verifying':
      return recordoned(seen, planVerifying(seen, now))
    case 'Missed':
    case 'Done':
    case 'Failed':
    case 'Cancelled':
      return { actions: [], notices: [], requeueAfter: REQUEUE_MS }
    default:
      return assertNever(phase)
  }
}

/** A Node that was deleted and registered again lacks our taint. Pods would be scheduled to a host that is away, or about to be. */
function recordoned(seen: Seen, planned: DoctorPlan): DoctorPlan {
  const { event, node, permit } = seen
  const isLost = event.status?.drainedAt !== undefined && node !== undefined && !isCordonedBy(node, cordonOwner(event))
  if (!isLost || permit === undefined || !isHeldPermit(seen)) return planned
  const again: DoctorAction = { kind: 'Cordon', reason: 'the Node lost the cordon of this event', by: byPermit(permit) }
  return { ...planned, actions: [again, ...planned.actions] }
}

/** Leftovers of an earlier preparation are undone first. */
function planAnnounced(seen: Seen, now: number): DoctorPlan {
  const { event } = seen
  const back = takenBack(seen, 'Released', 'the event was moved')
  if (back.length > 0) return { actions: back, notices: [] }
  const notBefore = timeOf(event.spec.notBefore)
  if (!takesHostAway(event)) return { actions: [], notices: [], requeueAfter: LONGEST_WAIT_MS }
  if (seen.machine?.spec.channel === 'Observe') return planObserved(event)
  if (notBefore === undefined) return planUntimed(seen, now)
  const { lead, startAt, isOutsideWindows } = preparationOf(seen, notBefore, now)
  if (!seen.isConfirmed && startAt <= now) return planUnconfirmed(seen)
  const postponement = isOutsideWindows ? planPostponement(seen, now, lead) : undefined
  if (postponement !== undefined) return postponement
  const known = event.status
  // A window start is fixed. Only values computed from `now` move with it.
  const isPlanned =
    known?.plannedFor === event.spec.notBefore &&
    known?.startAt !== undefined &&
    (startAt <= now
      ? (timeOf(known.startAt) ?? 0) <= now
      : Math.abs(startAt - (timeOf(known.startAt) ?? 0)) < REQUEUE_MS) &&
    leadMs(event) === lead
  const planned: StatusChange = {
    plannedFor: event.spec.notBefore,
    startAt: timestamp(startAt),
    lead: formatDuration(lead),
  }
  return {
    actions: [],
    notices: [],
    ...(!isPlanned && {
      change: {
        phase: 'Announced',
        ...(known?.phaseSince === undefined && { phaseSince: timestamp(now) }),
        ...planned,
      },
    }),
    waiting: {
      predicate: isOutsideWindows ? 'WaitingForWindow' : 'MaintenancePlanned',
      seen: isOutsideWindows
        ? `no window of the policies opens before ${event.spec.notBefore} less ${formatDuration(lead)}`
        : `the preparation starts at ${timestamp(startAt)}`,
      unblock: isOutsideWindows
        ? 'a commit opens a window before it, or its source moves it'
        : event.spec.source === PEOPLE
          ? 'that time comes'
          : event.spec.bill === true
            ? `a person pays the bill at ${event.spec.source}`
            : 'that time comes, or its source moves it',
    },
    requeueAfter: Math.min(LONGEST_WAIT_MS, Math.max(1_000, startAt - now)),
  }
}

/** Nothing is changed on a machine that is only observed: who waits for its drain would wait for ever. */
const planObserved = ({ spec }: MaintenanceEvent): DoctorPlan => ({
  actions: [],
  notices: [],
  waiting: {
    predicate: 'ObservedOnly',
    seen: `machine ${spec.machine} is only observed, so KubeNode does not drain its node`,
    unblock: `a person drains the node (kubectl drain), or manages machine/${spec.machine} (channel Agent): kubenode why machine/${spec.machine}`,
  },
  requeueAfter: LONGEST_WAIT_MS,
})

/** An old event may be cancelled by now. No node is drained, and no work counts as missed, before the source was asked. */
const planUnconfirmed = ({ event: { spec } }: Seen): DoctorPlan => ({
  actions: [],
  notices: [],
  waiting: {
    predicate: 'WaitingForOther',
    seen: `${spec.source} has not been asked since the controllers started`,
    unblock: `a list of ${spec.source}, within minutes`,
  },
  requeueAfter: REQUEUE_MS,
})

/** A source without a time. The work starts when the node is drained (people) or when we answer, or its time was never given. */
function planUntimed(seen: Seen, now: number): DoctorPlan {
  const { event, policy } = seen
  const { spec, status } = event
  if (spec.source !== PEOPLE && wantedAnswer(seen) === undefined)
    return {
      actions: [],
      notices: [],
      waiting: {
        predicate: 'WaitingForOther',
        seen: `${spec.source} names no time, and no policy answers it`,
        unblock:
          'a commit sets spec.maintenance.answer in a DefenderPolicy over the machine, or its source names a time',
      },
      requeueAfter: LONGEST_WAIT_MS,
    }
  const isOpen = policy.windows.every((w) => openingOf(w, now).isOpen)
  const startAt = isOpen ? now : nextStart(policy.windows, now)
  const known = timeOf(status?.startAt)
  const isPlanned = known !== undefined && status?.plannedFor === undefined
  return {
    actions: [],
    notices: [],
    ...(!isPlanned &&
      startAt !== undefined && { change: { phase: 'Announced', startAt: timestamp(startAt), plannedFor: undefined } }),
    waiting: {
      predicate: startAt === undefined ? 'WaitingForWindow' : 'MaintenancePlanned',
      seen:
        startAt === undefined
          ? 'no window of the policies opens'
          : `the preparation starts at ${timestamp(known ?? startAt)}`,
      unblock: startAt === undefined ? 'a commit opens a window in the policies' : 'the window opens',
    },
    requeueAfter: Math.min(LONGEST_WAIT_MS, Math.max(1_000, (known ?? startAt ?? Infinity) - now)),
  }
}

/** The drain continues until the source starts the work: less is lost. */
function planUnderWay(seen: Seen, now: number): DoctorPlan {
  const { event } = seen
  const { spec, status } = event
  const isDrained =
    spec.state !== 'Executing' &&
    spec.source !== PEOPLE &&
    status?.drainedAt === undefined &&
    status?.drainStartedAt !== undefined
  const more = isDrained && isHeldPermit(seen) && seen.hasPods !== false ? planPermit(seen, now) : undefined
  return {
    actions: more?.actions ?? [...renewalOf(seen, now), ...(isDrained ? [] : withdrawalOf(seen))],
    notices: [],
    waiting: {
      predicate: isOverrun(event, now) ? 'MaintenanceOverrun' : 'MaintenanceUnderWay',
      ...workText(event, now),
    },
    requeueAfter: more?.requeueAfter ?? REQUEUE_MS,
  }
}

function workText(event: MaintenanceEvent, now: number): Pick<NonNullable<DoctorPlan['waiting']>, 'seen' | 'unblock'> {
  const { metadata, spec, status } = event
  const isLate = isOverrun(event, now)
  if (spec.source !== PEOPLE)
    return {
      seen: `${spec.source} says ${spec.state}${isLate ? `, since ${status?.phaseSince}` : ''}`,
      unblock: isLate
        ? `a person asks ${spec.source} whether it still works on the host: kubenode maintenance list`
        : 'its source ends it',
    }
  const done = `kubenode maintenance done ${metadata.name}`
  return isLate
    ? {
        seen: `planned by ${plannerOf(spec)}${spec.notAfter === undefined ? ' without an end' : ` until ${spec.notAfter}`}`,
        unblock: done,
      }
    : // No command here: it would appear as the first thing to do before the work has ended.
      { seen: `${plannerOf(spec)} works on the host`, unblock: `the work is over; then run ${done}` }
}

function planVerifying(seen: Seen, now: number): DoctorPlan {
  const { event } = seen
  const since = event.status?.healthySince
  const well = isWell(seen)
  const change: StatusChange | undefined =
    well && since === undefined
      ? { healthySince: timestamp(now) }
      : !well && since !== undefined
        ? { healthySince: undefined }
        : undefined
  return {
    actions: [...renewalOf(seen, now), ...withdrawalOf(seen)],
    notices: [],
    ...defined({ change }),
    waiting: {
      predicate: 'MaintenanceUnderWay',
      seen: well ? `well since ${since ?? timestamp(now)}` : 'the machine is not Ready, or a component is not Healthy',
      unblock: verifiedText(seen, now),
    },
    requeueAfter: VERIFY_REQUEUE_MS,
  }
}

/** Uses only what is in the object. Two doctors with different lists would otherwise overwrite each other's texts. */
function verifiedText(seen: Seen, now: number): string {
  const { spec, status } = seen.event
  const since = timeOf(status?.healthySince)
  const well =
    since === undefined || !isWell(seen)
      ? `the machine is well for ${formatDuration(STABLE_MS)}`
      : `the machine stays well until ${timestamp(since + STABLE_MS)}`
  const listedUntil = timestamp((timeOf(status?.phaseSince) ?? now) + VERIFY_MS)
  return OPEN_AT_SOURCE.has(spec.state)
    ? `${well}, and ${spec.source} no longer lists the event, which is waited for until ${listedUntil}`
    : well
}

/** Removes our taint, frees the slot, and later deletes the record. */
function planOver(seen: Seen, now: number): DoctorPlan {
  const phase = phaseOfEvent(seen.event)
  const result = phase === 'Done' ? 'Succeeded' : phase === 'Failed' ? 'Failed' : 'Released'
  const back = takenBack(seen, result, `the event is ${phase}`)
  if (back.length > 0) return { actions: back, notices: [] }
  const endedAt = timeOf(seen.event.status?.endedAt) ?? now
  const left = endedAt + KEPT_MS - now
  return left <= 0 || seen.isSurplus
    ? { actions: [{ kind: 'DeleteEvent', reason: left <= 0 ? 'its time is over' : 'too many are kept' }], notices: [] }
    : { actions: [], notices: [], requeueAfter: Math.min(left, LONGEST_WAIT_MS) }
}

/** A deleted event was called off, so nothing of it may stay on the node. Decided from a read of the server, since a cache may lack the taint. */
function planDeleted(seen: Seen): DoctorPlan {
  const reason = 'the event was deleted'
  const report = reportOf(seen, 'Released', reason)
  return {
    actions: [
      ...(seen.node === undefined ? [] : [{ kind: 'Uncordon', reason } as const]),
      ...report,
      { kind: 'ReleaseRecord', reason },
    ],
    notices: [],
  }
}

/** A cache may lack our taint. Before a used slot is released, the taint is removed based on a read of the server. */
function takenBack(seen: Seen, result: 'Succeeded' | 'Failed' | 'Released', reason: string): readonly DoctorAction[] {
  const report = reportOf(seen, result, reason)
  const mayBeOurs = report.length > 0 && seen.permit?.status?.phase === 'Granted' && seen.node !== undefined
  const isOurs = mayBeOurs || isCordonedBy(seen.node, cordonOwner(seen.event))
  return [...(isOurs ? [{ kind: 'Uncordon', reason } as const] : []), ...report]
}
