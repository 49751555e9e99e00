// Decides about the permit of an event and the drain under it. One request covers the drain and what follows. Pure.
import type { Disruption, OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceSpec, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { phaseOfEvent, plannerOf } from '#nodes/faults/maintenance.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { podsLeftText } from '#nodes/drain.ts'
import {
  PACE_OF_ONE,
  type Need,
  holdPermit,
  renewalOf as permitRenewal,
  reportOf as permitReport,
  withdrawalOf as withdrawal,
} from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { namesOf, nextPermitName, ofObject } from '#permits/permit-names.ts'
import { type TargetResult, permitAnswer, requesterOf, targetRef } from '#permits/permits.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { DoctorAction, DoctorPlan } from './actions.ts'
import { type Seen, cordonOwner, isKept } from './seen.ts'
import { waitsOf } from './plan-schedule.ts'
import { timeOf } from './notices/time-of.ts'

/** How often a pending permit is checked. Its watch usually reports sooner. */
const REQUEUE_MS = 30_000
/** One drain pass evicts what it may. The next one checks what is left. */
const DRAIN_REQUEUE_MS = 3_000
/**
 * A drain that a budget blocks for an hour is not retried every three seconds. The next try waits a tenth of the elapsed time, at most half a minute.
 */
const DRAIN_REQUEUE_SHARE = 1 / 10
const FOLLOWS: Readonly<Record<MaintenanceSpec['kind'], readonly Disruption[]>> = {
  Reboot: ['Reboot'],
  Stop: ['Reboot'],
  Redeploy: ['Reboot'],
  Migrate: [],
  DiskRepair: ['Reboot'],
  Reclaim: [],
  Delete: ['Replace'],
  Notice: [],
}

/** Work that loses data is requested as a replacement, which needs an Approval. A host that is reclaimed within minutes cannot wait for one. */
export function operationsOf({ kind, dataLoss }: MaintenanceSpec): readonly Disruption[] {
  const follows = dataLoss && kind !== 'Reclaim' ? (['Replace'] as const) : FOLLOWS[kind]
  return ['Drain', ...follows]
}

/** The permit in the status, even if no cache has it. Otherwise the next one. */
function permitOf({ event, permit, strays }: Seen): string {
  const last = event.status?.permitRef
  if (permit === undefined && last !== undefined) return last
  return nextPermitName(ofObject(nameOf(event)), namesOf([...(permit === undefined ? [] : [permit]), ...strays]))
}

const targetOf = ({ machine }: Seen): string => machine?.metadata.uid ?? ''

export const isHeldPermit = (seen: Seen): boolean => permitAnswer(seen.permit, targetOf(seen)).kind === 'Granted'

function needOf(seen: Seen, machine: Machine): Need {
  const { event, permit } = seen
  const { kind, notBefore } = event.spec
  return {
    permit: permitOf(seen),
    reason: permit === undefined ? 'the preparation starts' : 'the last permit ended',
    request: {
      operations: [...operationsOf(event.spec)],
      targets: [targetRef('Machine', machine)],
      requester: requesterOf(FIELD_MANAGERS.hostDoctor, maintenanceEvent.kind, event),
      reason: `${kind} of the host by ${plannerOf(event.spec)}${notBefore === undefined ? '' : `, not before ${notBefore}`}`,
      leaseSeconds: LEASES.maintenance,
    },
  }
}

/** A permit may have just ended while its object still shows the last request. */
export function planPermit(seen: Seen, now: number): DoctorPlan {
  const { event, machine, permit, strays, node, endedFor } = seen
  if (machine === undefined) return { actions: [], notices: [] }
  const own = [...(permit === undefined ? [] : [permit]), ...strays]
  const held = holdPermit(needOf(seen, machine), { own, endedFor }, PACE_OF_ONE)
  // The status lost this request: record the permit there before disrupting anything under it.
  if ((held.kind === 'Granted' || held.kind === 'Wait') && held.permit.metadata.name !== event.status?.permitRef)
    return { actions: [], notices: [], change: { permitRef: held.permit.metadata.name }, requeueAfter: 0 }
  if (held.kind === 'Granted') return draining(seen, now)
  if (seen.runningJob !== undefined)
    return waits({
      predicate: 'JobRunning',
      seen: `job ${seen.runningJob} is running on this node`,
      unblock: 'the repair finishes',
    })
  if (held.kind === 'Wait') return waits(held.wait)
  const answer = permitAnswer(permit, targetOf(seen))
  const back: readonly DoctorAction[] =
    answer.kind === 'Ended' && isCordonedBy(node, cordonOwner(event))
      ? [{ kind: 'Uncordon', reason: `no permit: ${answer.seen}` }]
      : []
  if (held.kind === 'AskLater' || back.length > 0)
    return {
      ...waits(held.wait),
      actions: back,
      requeueAfter: held.kind === 'AskLater' ? Math.max(1_000, held.afterMs) : 1_000,
    }
  if (!isKept(event)) return keeps
  return { ...waits(held.wait), actions: [held.action], change: { permitRef: permitOf(seen) } }
}

/** Before any request: if the event could vanish, its node would stay cordoned for good. */
const keeps: DoctorPlan = {
  actions: [{ kind: 'KeepRecord', reason: 'its node is drained only while the event is there' }],
  notices: [],
  requeueAfter: 1_000,
}

function draining(seen: Seen, now: number): DoctorPlan {
  const { event, permit, node } = seen
  if (permit === undefined) return { actions: [], notices: [] }
  const isOurs = isCordonedBy(node, cordonOwner(event))
  const waits = waitsOf(seen, now)
  const work: readonly DoctorAction[] = isOurs
    ? [{ kind: 'Drain', reason: 'the host will be away', by: byPermit(permit), ...defined({ waits }) }]
    : [{ kind: 'Cordon', reason: 'the host will be away', by: byPermit(permit) }]
  return {
    actions: [...renewalOf(seen, now), ...work],
    notices: [],
    ...(event.status?.drainStartedAt === undefined && { change: { drainStartedAt: timestamp(now) } }),
    waiting: {
      predicate: 'WaitingForDrain',
      seen: isOurs ? podsLeftText(seen.pods, waits) : 'the node is being cordoned',
      unblock: 'the pods end or move; a PodDisruptionBudget may keep them',
    },
    requeueAfter: drainRequeueMs(event.status?.drainStartedAt, now),
  }
}

function drainRequeueMs(startedAt: string | undefined, now: number): number {
  const taken = now - (timeOf(startedAt) ?? now)
  return Math.min(REQUEUE_MS, Math.max(DRAIN_REQUEUE_MS, taken * DRAIN_REQUEUE_SHARE))
}

const waits = (waiting: DoctorPlan['waiting'] & object): DoctorPlan => ({
  actions: [],
  notices: [],
  waiting,
  requeueAfter: REQUEUE_MS,
})

/** The slot is held as long as the host is away. */
export const renewalOf = ({ permit }: Seen, now: number): readonly DoctorAction[] =>
  permitRenewal(permit, now, 'the host is still away')

/** Withdraws a permit if nothing is drained under it any more. */
export const withdrawalOf = ({ permit }: Seen): readonly DoctorAction[] =>
  withdrawal(permit, requestedFor(permit), 'the work is not drained for any longer')

/** A permit requested right now has the next name. All other permits that the event does not name are released. */
export function straysBack(seen: Seen): readonly DoctorAction[] {
  const next = phaseOfEvent(seen.event) === 'Preparing' ? permitOf({ ...seen, strays: [] }) : undefined
  return seen.strays
    .filter((p) => p.metadata.name !== next)
    .flatMap((permit) => reportOf({ permit }, 'Released', 'its event has another permit, or is over'))
}

/** For a deleted machine, the target is the one in the request. */
export const reportOf = (
  { permit }: Pick<Seen, 'permit'>,
  result: TargetResult,
  reason: string,
): readonly DoctorAction[] => permitReport(permit, requestedFor(permit), result, reason)

const requestedFor = (permit: OperationPermit | undefined): string => permit?.spec.targets[0]?.uid ?? ''
