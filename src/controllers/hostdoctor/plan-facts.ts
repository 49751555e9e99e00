// Facts about one event, in the terms of its protocol. Undefined means unknown, and triggers no transition. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { PEOPLE } from '#api/kinds/maintenance-event.ts'
import type { MaintenanceFacts } from '#api/protocol/maintenance.ts'
import { leadMs, phaseOfEvent, takesHostAway } from '#nodes/faults/maintenance.ts'
import { findCondition } from '#kube/conditions.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { isNodeReady } from '#nodes/objects.ts'
import { permitAnswer } from '#permits/permits.ts'
import { wantedAnswer } from './plan-answer.ts'
import { preparationOf } from './plan-schedule.ts'
import { type Seen, cordonOwner } from './seen.ts'
import { timeOf } from './notices/time-of.ts'

/** Lists without the event before it counts as gone. A single list can be wrong. */
export const ABSENT_POLLS = 2
/** How long the machine must be healthy before its node is uncordoned. */
export const STABLE_MS = 5 * 60_000
/** Longer than a slow machine needs to come back, and than a vendor needs to notice that the work is done. */
export const VERIFY_MS = 3_600_000

const isAbsent = ({ absentPolls }: Pick<Seen, 'absentPolls'>): boolean => absentPolls >= ABSENT_POLLS

export const OPEN_AT_SOURCE: ReadonlySet<string> = new Set(['Scheduled', 'Inquiring', 'Executing'])

/** The source still lists it as scheduled or in progress. */
const isListed = (seen: Seen): boolean => OPEN_AT_SOURCE.has(seen.event.spec.state) && !isAbsent(seen)

/** Ready, with every component Healthy. A machine that waits for its removal is never Ready, and may wait for hours. */
export const isWell = ({ machine, node }: Pick<Seen, 'machine' | 'node'>): boolean =>
  machine?.status !== undefined &&
  (isReady(machine) || machine.metadata.deletionTimestamp !== undefined) &&
  isNodeReady(node) &&
  (machine.status.components ?? []).every((c) => c.state === 'Healthy')

const isReady = ({ status }: Machine): boolean =>
  status?.phase === 'Ready' && findCondition(status.conditions, 'Ready')?.status === 'True'

export function factsOf(seen: Seen, now: number): MaintenanceFacts {
  const { event, machine, node, permit } = seen
  const { spec, status } = event
  const phase = phaseOfEvent(event)
  const isOfPeople = spec.source === PEOPLE
  const isNotice = !takesHostAway(event)
  const notBefore = timeOf(spec.notBefore)
  // If people set no time, the work starts when the node is drained, so they are never too early.
  const isUntimed = isOfPeople && notBefore === undefined
  const hasCome = notBefore !== undefined && now >= notBefore
  const isBegun = phase === 'InProgress'
  const isCancelled = spec.state === 'Cancelled'
  const isRebooted =
    isBegun &&
    !isOfPeople &&
    status?.bootID !== undefined &&
    machine?.status?.bootID !== undefined &&
    machine.status.bootID !== status.bootID
  const isAnswered = status?.answer?.outcome === 'Ordered' && status.answer.kind !== 'Postpone'
  const isSilent = node !== undefined && !isNodeReady(node)
  const granted = machine !== undefined && permitAnswer(permit, machine.metadata.uid ?? '').kind === 'Granted'
  const healthySince = timeOf(status?.healthySince)
  const isVerified = isVerifyOver(event, now)
  return {
    takesHostAway: !isNotice && machine !== undefined && machine.spec.channel !== 'Observe',
    startReached: startReached(seen, now),
    notBeforePassed: seen.isConfirmed ? hasCome && isListed(seen) : undefined,
    missRecorded: status?.missedAt !== undefined,
    drained:
      granted && isCordonedBy(node, cordonOwner(event)) && seen.hasPods !== undefined ? !seen.hasPods : undefined,
    underWay:
      !isNotice &&
      isListed(seen) &&
      (spec.state === 'Executing' ||
        // A reclaimed host serves until its end, so its node can be drained.
        (spec.unplanned && spec.kind !== 'Reclaim') ||
        (isOfPeople && (hasCome || isUntimed) && phase === 'Prepared') ||
        (isAnswered && isSilent && phase === 'Prepared')),
    movedAway: isMovedAway(seen, now),
    sourceEnded:
      spec.state === 'Executed' ||
      spec.state === 'Avoided' ||
      (isAbsent(seen) && (isBegun || notBefore === undefined || hasCome)) ||
      (isBegun && (isCancelled || isRebooted)),
    sourceCancelled:
      isCancelled ||
      (seen.twin !== undefined && phase === 'Announced') ||
      (isAbsent(seen) && OPEN_AT_SOURCE.has(spec.state) && !isBegun && isAhead(notBefore, now)),
    sourceFailed: spec.state === 'Failed',
    wellAgain:
      isNotice ||
      (isWell(seen) &&
        healthySince !== undefined &&
        now - healthySince >= STABLE_MS &&
        (isVerified || !isListed(seen))),
    verifyOverdue: isVerified && !isWell(seen),
    machineDeleted: machine === undefined,
  }
}

const isAhead = (at: number | undefined, now: number): boolean => at !== undefined && now < at

/** A vendor may list an event for half a day after the work. A healthy machine does not stay drained that long. */
export const isVerifyOver = ({ status }: Seen['event'], now: number): boolean =>
  now - (timeOf(status?.phaseSince) ?? now) >= VERIFY_MS

function startReached(seen: Seen, now: number): boolean | undefined {
  const { spec, status } = seen.event
  const notBefore = timeOf(spec.notBefore)
  const startAt = timeOf(status?.startAt)
  // Only minutes are left: do not wait for a window, lead time or answer.
  if (spec.kind === 'Reclaim') return true
  if (!seen.isConfirmed) return undefined
  // A vendor without a time waits for our answer. Without an answer, the node would be drained for an unknown time.
  if (notBefore === undefined)
    return (
      startAt !== undefined &&
      status?.plannedFor === undefined &&
      (spec.source === PEOPLE || wantedAnswer(seen) !== undefined) &&
      now >= startAt
    )
  // The start was planned for another time. Compute it again before relying on it.
  if (startAt === undefined || status?.plannedFor !== spec.notBefore) return undefined
  return now >= startAt || notBefore - now <= leadMs(seen.event)
}

function isMovedAway(seen: Seen, now: number): boolean {
  const { spec, status } = seen.event
  const notBefore = timeOf(spec.notBefore)
  if (notBefore === undefined || spec.unplanned || spec.state === 'Executing') return false
  if (!OPEN_AT_SOURCE.has(spec.state) || status?.plannedFor === undefined || status.plannedFor === spec.notBefore)
    return false
  const { lead, startAt } = preparationOf(seen, notBefore, now)
  return notBefore - now > lead && startAt > now
}
