// Decides about the permit of an event and the drain under it: one request for the drain and what follows. Pure.
import type { Disruption, OperationPermit } from '#api/kinds/operation-permit.ts'
import type { MaintenanceSpec } from '#api/kinds/maintenance-event.ts'
import { timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'
import { phaseOfEvent } from '#nodes/faults/maintenance.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { type TargetResult, isRenewalDue, permitAnswer } from '#permits/permits.ts'
import type { DoctorAction, DoctorPlan } from './actions.ts'
import { type Seen, cordonOwner, isKept, nameOf } from './seen.ts'
import { timeOf } from './time-of.ts'

/** How often a permit that waits is checked; its watch tells sooner. */
const LOOK_AGAIN_MS = 30_000
/** A pass of the drain evicts what it may; the next one looks what is left. */
const DRAIN_LOOK_MS = 3_000
/** A drain that a budget blocks for an hour is not tried each three seconds: the next try waits for a tenth of the time it has taken, half a minute at most. */
const DRAIN_LOOK_SHARE = 1 / 10
/** One that was refused or revoked is asked for again, and not in a circle. */
const ASK_AGAIN_MS = 60_000

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

/** What loses data is asked for as a replacement, which needs an Approval; a host that is reclaimed in minutes is not waited for. */
export function operationsOf({ kind, dataLoss }: MaintenanceSpec): readonly Disruption[] {
  const follows = dataLoss && kind !== 'Reclaim' ? (['Replace'] as const) : FOLLOWS[kind]
  return ['Drain', ...follows]
}

/** The name of the one after it: asking twice is asking once. */
function nextName(seen: Seen): string {
  const name = nameOf(seen.event)
  const last = seen.event.status?.permitRef
  if (last === undefined) return name
  const count = /^-p(\d+)$/.exec(last.slice(name.length))?.[1]
  return `${name}-p${Number(count ?? 1) + 1}`
}

const targetOf = ({ machine }: Seen): string => machine?.metadata.uid ?? ''

export const isHeldPermit = (seen: Seen): boolean => permitAnswer(seen.permit, targetOf(seen)).kind === 'Granted'

/** A permit may have ended a moment ago while its object says what it was asked last. */
export function planPermit(seen: Seen, now: number): DoctorPlan {
  const { event, permit, node } = seen
  const isOurs = isCordonedBy(node, cordonOwner(event))
  const answer = permitAnswer(permit, targetOf(seen))
  // Of a request whose trace was lost: the status names the permit before anything is disrupted under it.
  if (permit?.metadata.name !== undefined && permit.metadata.name !== event.status?.permitRef)
    return { actions: [], notices: [], change: { permitRef: permit.metadata.name }, requeueAfter: 0 }
  if (seen.runningJob !== undefined && answer.kind !== 'Granted')
    return waits('JobRunning', `job ${seen.runningJob} is running on this node`, 'the repair finishes')
  switch (answer.kind) {
    case 'Granted':
      return draining(seen, now)
    case 'Absent': {
      const name = event.status?.permitRef ?? nextName(seen)
      if (!isKept(event)) return keeps
      return asks(name, event.status?.permitRef === name ? 'no permit exists' : 'the preparation starts')
    }
    case 'Waiting': {
      const waiting = permit === undefined ? undefined : permitWait(permit, targetOf(seen))
      return waits(
        waiting?.predicate ?? 'PermitRequested',
        waiting?.seen ?? answer.seen,
        waiting?.unblock ?? 'the Defender grants the permit',
      )
    }
    case 'Ended': {
      const left = ASK_AGAIN_MS - seen.permitEndedForMs
      const back: readonly DoctorAction[] = isOurs ? [{ kind: 'Uncordon', reason: `no permit: ${answer.seen}` }] : []
      if (left > 0 || back.length > 0)
        return {
          ...waits('PermitDenied', answer.seen, 'it is asked for again'),
          actions: back,
          requeueAfter: Math.max(1_000, left),
        }
      return isKept(event) ? asks(nextName(seen), `the last permit ended: ${answer.seen}`) : keeps
    }
    default:
      return assertNever(answer)
  }
}

/** Before anything is asked for: an event that could vanish would leave its node cordoned for good. */
const keeps: DoctorPlan = {
  actions: [{ kind: 'KeepRecord', reason: 'its node is drained only while the event is there' }],
  notices: [],
  requeueAfter: 1_000,
}

/** The name follows from the event and the permit before: a request whose trace was lost is made again under the same name. */
function asks(permit: string, reason: string): DoctorPlan {
  return {
    actions: [{ kind: 'RequestPermit', reason, permit }],
    notices: [],
    change: { permitRef: permit },
    waiting: {
      predicate: 'PermitRequested',
      seen: 'the Defender has not decided yet',
      unblock: 'the Defender grants it',
    },
    requeueAfter: LOOK_AGAIN_MS,
  }
}

function draining(seen: Seen, now: number): DoctorPlan {
  const { event, permit, node } = seen
  if (permit === undefined) return { actions: [], notices: [] }
  const isOurs = isCordonedBy(node, cordonOwner(event))
  const work: readonly DoctorAction[] = isOurs
    ? [{ kind: 'Drain', reason: 'the host will be away', permit }]
    : [{ kind: 'Cordon', reason: 'the host will be away', permit }]
  return {
    actions: [...renewalOf(seen, now), ...work],
    notices: [],
    ...(event.status?.drainStartedAt === undefined && { change: { drainStartedAt: timestamp(now) } }),
    waiting: {
      predicate: 'WaitingForDrain',
      seen: isOurs ? 'pods that have to move are left' : 'the node is being cordoned',
      unblock: 'the pods end or move; a PodDisruptionBudget may keep them',
    },
    requeueAfter: drainLookMs(event.status?.drainStartedAt, now),
  }
}

function drainLookMs(startedAt: string | undefined, now: number): number {
  const taken = now - (timeOf(startedAt) ?? now)
  return Math.min(LOOK_AGAIN_MS, Math.max(DRAIN_LOOK_MS, taken * DRAIN_LOOK_SHARE))
}

const waits = (
  predicate: NonNullable<DoctorPlan['waiting']>['predicate'],
  text: string,
  unblock: string,
): DoctorPlan => ({
  actions: [],
  notices: [],
  waiting: { predicate, seen: text, unblock },
  requeueAfter: LOOK_AGAIN_MS,
})

/** The slot is held as long as the host is away. */
export const renewalOf = ({ permit }: Seen, now: number): readonly DoctorAction[] =>
  permit !== undefined && isRenewalDue(permit, now)
    ? [{ kind: 'RenewPermit', reason: 'the host is still away', permit }]
    : []

/** Of work that nothing is drained for any longer: granted now, the permit would take a slot and a place in the rates from others, for nothing. */
export const withdrawalOf = (seen: Seen): readonly DoctorAction[] =>
  seen.permit?.status?.phase === 'Granted'
    ? []
    : [reportOf(seen, 'Released', 'the work is not drained for any longer')].filter((a) => a !== undefined)

const OPEN: ReadonlySet<string> = new Set(['Requested', 'Granted'])

export const isOpenPermit = ({ status }: OperationPermit): boolean => OPEN.has(status?.phase ?? 'Requested')

/** One that is asked for right now has the name that comes next; every other one that the event does not name is released. */
export function straysBack(seen: Seen): readonly DoctorAction[] {
  const next = phaseOfEvent(seen.event) === 'Preparing' ? nextName(seen) : undefined
  return seen.strays
    .filter((p) => p.metadata.name !== next)
    .flatMap((permit) => reportOf({ permit }, 'Released', 'its event has another permit, or is over') ?? [])
}

/** Undefined: there is no permit that is open for the machine. Of a deleted machine the target is the one of the request. */
export function reportOf(
  { permit }: Pick<Seen, 'permit'>,
  result: TargetResult,
  reason: string,
): DoctorAction | undefined {
  const target = permit?.spec.targets[0]?.uid
  if (permit === undefined || target === undefined || !isOpenPermit(permit)) return undefined
  if (permit.spec.results?.[target] !== undefined) return undefined
  return {
    kind: 'ReportResult',
    reason,
    permit,
    target,
    result: permit.status?.phase === 'Granted' ? result : 'Released',
  }
}
