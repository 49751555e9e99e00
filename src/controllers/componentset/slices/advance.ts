// Moves one slice that waits for its permit or switches: begin, replan, settle, fail, stall, abort, each by the shared table.
import { readSliceTarget } from '#api/protocol/component-order.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { continuedWith } from '#api/protocol/part.ts'
import type { SliceFacts } from '#api/protocol/slice.ts'
import { assertNever } from '#lib/errors.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import { renewalOf } from '#permits/holder.ts'
import { endedWait, permitWait } from '#permits/permit-wait.ts'
import { STAGING_REASONS } from '#api/protocol/staging-reasons.ts'
import { stagingRefusal } from '#nodes/placement/staging-refusal.ts'
import { hasEnded } from '#permits/permits.ts'
import type { MachineResult } from '#permits/let-go.ts'
import type { SetAction } from '../actions.ts'
import { reportOf } from '../revisions/blocks.ts'
import type { Rollout, Slice } from '../seen.ts'
import { LOST_AFTER_MS, silentSince } from '../members/reading.ts'
import { type SliceMachine, type SliceView, type Surroundings, isFailed } from './slice-view.ts'
import { type Wait, waitingSince } from '../reporting/wait.ts'

/** Why a slice is not wanted any more. */
export type GivenUp = 'superseded' | 'blocked' | 'aborted'

export interface Moved {
  /** Undefined: the slice was given up and its entry goes. */
  readonly slice: Slice | undefined
  readonly actions: readonly SetAction[]
  /** Set when the slice failed now. */
  readonly failure?: string
}

export interface Tally {
  readonly failed: number
  readonly allowed: number
  /** Machines that were let go because they did not get ready. */
  readonly stuck?: number
  /** What the last of those that failed says. */
  readonly detail?: string
}

/** What a slice is moved by, beside what is observed of it. */
interface SliceTurn {
  readonly rollout: Rollout
  readonly tally: Tally
  readonly givenUp: GivenUp | undefined
}

export function moveSlice(view: SliceView, around: Surroundings, turn: SliceTurn): Moved {
  const { slice, permit } = view
  const { givenUp } = turn
  switch (slice.phase) {
    case 'Planned':
    case 'Inspecting':
    case 'Soaking':
      return givenUp === undefined ? { slice, actions: [] } : abort(view, around, givenUp)
    case 'AwaitingPermit':
      if (givenUp !== undefined) return abort(view, around, givenUp)
      return permit === undefined ? requestAgain(view, around) : awaitPermit(view, permit, around)
    case 'Switching':
      return whileSwitching(view, around, turn)
    case 'Passed':
    case 'Failed':
    case 'Aborted':
      return { slice, actions: [] }
    default:
      return assertNever(slice.phase)
  }
}

function awaitPermit(view: SliceView, permit: OperationPermit, around: Surroundings): Moved {
  const { slice, machines } = view
  const letGo = machines.filter((m) => m.isHalted && m.end === 'Released' && m.result === undefined)
  if (letGo.length > 0 && !hasEnded(permit))
    return waits(slice, halted(letGo), around, reports({ slice, permit, machines: letGo }))
  const isGranted = permit.status?.phase === 'Granted'
  // A report of the previous attempt must not count for this one: the machine controller raises the attempt first.
  const stuck = machines.find((m) => m.standing === 'Failed' && failedBefore(m, view, around))
  if (isGranted && stuck !== undefined) return waits(slice, retried(stuck), around, renewal(permit, around.now))
  const begun = around.rules.nextPhase(slice.phase, 'begin', { permitGrantedNow: isGranted })
  if (begun !== undefined) return waits({ ...slice, phase: begun }, progress(view), around)
  const replanned = around.rules.nextPhase(slice.phase, 'replan', { permitEnded: hasEnded(permit) })
  if (replanned !== undefined) return waits({ ...slice, phase: replanned }, endedWait(permit), around)
  return withoutPermit(view, around) ?? waits(slice, permitWait(permit), around)
}

/**
 * Machines that have the desired version without a switch, were deleted, or fell silent before they began, no longer need a permit: a slice with only such
 * machines ends before the Defender answers. About a silent one it gives no answer, and one that is dead would hold the rollout for ever.
 */
function withoutPermit(view: SliceView, around: Surroundings): Moved | undefined {
  const { slice, permit } = view
  const machines = view.machines.map(releasedIfSilent)
  const needNone = machines.filter((m) => m.result !== undefined || m.end === 'Succeeded' || m.end === 'Released')
  const actions = reports({ slice, permit, machines: needNone })
  const facts: SliceFacts = {
    machinesReported: needNone.length === machines.length,
    noMachineSwitching: !view.isAnySwitching,
  }
  if (around.rules.nextPhase(slice.phase, 'withdraw', facts) !== undefined) return { slice: undefined, actions }
  return actions.length === 0 || permit === undefined ? undefined : waits(slice, permitWait(permit), around, actions)
}

/** Nothing was ordered under a permit that is not granted; its Machine is read once more before the result is written, and gets no order afterwards. */
const releasedIfSilent = (m: SliceMachine): SliceMachine =>
  m.end === 'Lost' && m.standing !== 'Switching' ? { ...m, end: 'Released' } : m

/** Its permit was requested before the slice was named, so a missing one was deleted. */
function requestAgain({ slice }: SliceView, around: Surroundings): Moved {
  const phase = around.rules.nextPhase(slice.phase, 'replan', { permitEnded: true }) ?? slice.phase
  return waits({ ...slice, phase }, PERMIT_ENDED, around)
}

/** What failed with the attempt of this slice has failed under its permit: orders may be given before this phase ends. Clocks of nodes are not asked. */
function failedBefore({ reading, targetUid }: SliceMachine, { slice }: SliceView, { indexOf }: Surroundings): boolean {
  const order = reading?.orders[indexOf(slice.component)]
  return targetUid !== undefined && order !== undefined && order.slice !== slice.startedAt
}

function whileSwitching(view: SliceView, around: Surroundings, { rollout, tally, givenUp }: SliceTurn): Moved {
  const { slice, permit, machines } = view
  const failed = machines.filter((m) => isFailed(m, around.isOutage)).length
  const hasNoPermit = permit === undefined || hasEnded(permit)
  // A result counts once it is in the permit: the machine was read again before it was written there.
  const isOver = machines.every((m) => m.end === 'Lost' || (m.targetUid === undefined ? m.end : m.result) !== undefined)
  const isReported = isOver || (hasNoPermit && machines.every((m) => m.end !== undefined))
  const isAbove = tally.failed > tally.allowed
  const overdue = Date.parse(slice.waitingFor?.since ?? '') + parseDuration(rollout.progressDeadline)
  const facts: SliceFacts = {
    noMachineSwitching: !view.isAnySwitching,
    machinesReported: isReported,
    failuresWithin: !isAbove,
    failuresAbove: isAbove,
    deadlinePassed: !around.isOutage && !isHeldUp(machines) && around.now >= overdue,
    permitEnded: hasNoPermit,
    givenUp: givenUp !== undefined,
  }
  const counts = failed === 0 ? slice : { ...slice, failed }
  const isDeadline = facts.deadlinePassed === true && facts.noMachineSwitching === true
  const stuck = isDeadline && !isReported ? machines.filter(isUnderWay) : []
  // A few that do not get ready are let go like a few that fail; what is more than allowed is blamed on the revision.
  const isTolerable = stuck.length > 0 && tally.failed + (tally.stuck ?? 0) + stuck.length <= tally.allowed
  const report = reports(isTolerable ? { ...view, machines: machines.map(letGoIfStuck) } : view)
  if (givenUp !== undefined) {
    const aborted = around.rules.nextPhase(slice.phase, 'abort', facts)
    return aborted === undefined ? waits(counts, ending(view), around, report) : { slice: undefined, actions: report }
  }
  if (isTolerable) return waits(counts, givenUpOn(stuck), around, report)
  const { nextPhase } = around.rules
  const bad = nextPhase(slice.phase, 'fail', facts)
  if (bad !== undefined) return failure(counts, bad, failedOf(tally), around, report)
  const settled = nextPhase(slice.phase, 'settle', facts)
  if (settled !== undefined) {
    // A step has the machines that the version was tried on; one that no machine came through has proved nothing.
    const tried = new Set(machines.filter((m) => wasTried(m, around.isOutage)).map((m) => m.name))
    const isProof = machines.some((m) => m.end === 'Succeeded' || m.end === undefined)
    if (tried.size === 0 || !isProof) return { slice: undefined, actions: report }
    return waits({ ...continuedWith(counts, tried), phase: settled }, STEP_OPEN, around, report)
  }
  const stalled = isReported ? undefined : nextPhase(slice.phase, 'stall', facts)
  if (stalled !== undefined)
    return failure(
      counts,
      stalled,
      `no progress for ${formatDuration(parseDuration(rollout.progressDeadline))}${stuckAt(view, around)}`,
      around,
      report,
    )
  const replanned = nextPhase(slice.phase, 'replan', facts)
  if (replanned !== undefined && permit !== undefined)
    return waits({ ...counts, phase: replanned }, endedWait(permit), around)
  if (replanned !== undefined) return waits({ ...counts, phase: replanned }, PERMIT_ENDED, around)
  const more = report.length > 0 || permit === undefined ? report : renewal(permit, around.now)
  const wait =
    permit !== undefined && isHeldUp(machines)
      ? permitWait(permit)
      : (refused(view, around) ?? silent(view) ?? progress(view))
  return waits(counts, isAbove ? tooMany(tally, machines.filter((m) => m.isSwitching).length) : wait, around, more)
}

const isUnderWay = (m: SliceMachine): boolean => m.end === undefined && !m.isUngranted

/** The remaining machines wait for the Defender: that is not the version's fault, however long it takes. */
const isHeldUp = (machines: readonly SliceMachine[]): boolean =>
  machines.some((m) => m.end === undefined) && !machines.some(isUnderWay)

/** Neither one that was let go, nor one that fell silent before it began, or with many others. */
const wasTried = (m: SliceMachine, isOutage: boolean): boolean =>
  m.end !== 'Released' && (m.end !== 'Lost' || isFailed(m, isOutage))

function failure(
  slice: Slice,
  phase: Slice['phase'],
  why: string,
  { nameOfStep }: Surroundings,
  actions: readonly SetAction[],
): Moved {
  const { waitingFor: _, ...rest } = slice
  return { slice: { ...rest, phase }, actions, failure: `${nameOfStep(slice)}: ${why}` }
}

function abort(view: SliceView, around: Surroundings, why: GivenUp): Moved {
  const facts: SliceFacts = { givenUp: true, noMachineSwitching: !view.isAnySwitching }
  const aborted = around.rules.nextPhase(view.slice.phase, 'abort', facts)
  const actions = reports(view)
  if (aborted === undefined) return waits(view.slice, ending(view), around, actions)
  return { slice: undefined, actions: actions.map((a) => ({ ...a, reason: `${a.reason}; the slice is ${why}` })) }
}

/** Results that can be written; none into a permit that has ended. */
export function reports({
  slice,
  permit,
  machines,
}: Pick<SliceView, 'slice' | 'permit' | 'machines'>): readonly SetAction[] {
  if (permit === undefined || hasEnded(permit)) return []
  const results = machines.flatMap(resultOf)
  if (results.length === 0) return []
  const reason = `${results.length} of ${counted(permit.spec.targets.length, 'machine')} came to an end`
  return [{ kind: 'Report', reason, permit, target: readSliceTarget(slice), startedAt: slice.startedAt, results }]
}

function resultOf({ name, targetUid, result, end }: SliceMachine): readonly MachineResult[] {
  if (targetUid === undefined || result !== undefined || end === undefined || end === 'Lost') return []
  return [{ machine: name, uid: targetUid, result: end }]
}

const renewal = (permit: OperationPermit, now: number): readonly SetAction[] =>
  renewalOf(permit, now, 'the slice is still running')

const waits = (slice: Slice, wait: Wait, { now }: Surroundings, actions: readonly SetAction[] = []): Moved => ({
  slice: { ...slice, waitingFor: waitingSince(slice.waitingFor, wait, now) },
  actions,
})

export const STEP_OPEN: Wait = {
  predicate: 'StepOpen',
  seen: 'waiting for the other slices of this step',
  unblock: 'all slices of the step finish',
}

const PERMIT_ENDED: Wait = {
  predicate: 'PermitRequested',
  seen: 'the permit was deleted',
  unblock: 'a new permit is requested',
}

/** A machine that refuses the ordered version: its message is shown, and it counts as no progress, so that the deadline ends the wait. */
function refused({ slice, machines }: SliceView, { indexOf }: Surroundings): Wait | undefined {
  for (const { reading, standing, name, end } of machines) {
    if (end !== undefined || standing !== 'Pending') continue
    const refusal = stagingRefusal(reading?.reports[indexOf(slice.component)])
    if (refusal !== undefined)
      return {
        predicate: refusal.reason,
        seen: `${name}: ${refusal.message}`,
        unblock: `${refusal.reason === 'FetchFailed' ? `a person publishes ${slice.component} ${slice.version ?? ''} at one of its URLs` : 'a person removes the cause'}, or a commit declares another version; the progress deadline ends the wait: kubenode describe machine/${name}`,
        sameAs: STAGING_REASONS,
      }
  }
  return undefined
}

/** The result of its switch is unknown until its agent sends heartbeats again, or it counts as lost. */
function silent({ machines }: SliceView): Wait | undefined {
  const found = machines.find((m) => m.isSwitching && m.reading?.health === 'Silent')
  const since = found?.reading === undefined ? undefined : silentSince(found.reading)
  if (found === undefined || since === undefined) return undefined
  return {
    predicate: 'LeaseExpired',
    seen: `${found.name} is silent between two versions since ${timestamp(since)}`,
    unblock: `its agent reports again; counted as failed at ${timestamp(since + LOST_AFTER_MS)}`,
  }
}

function progress({ machines }: SliceView): Wait {
  const done = machines.filter((m) => m.end !== undefined).length
  const first = machines.find((m) => m.end === undefined)
  const frozen = first?.reading !== undefined && isNodeFrozen(first.reading.machine) ? ', and its node is frozen' : ''
  const at = first === undefined ? '' : `; ${first.name} is ${first.standing ?? 'gone'}${frozen}`
  return {
    predicate: 'Progressing',
    seen: `${done} of ${counted(machines.length, 'machine')} done${at}`,
    unblock: 'the machines finish switching; no action needed',
    isProgress: true,
  }
}

const letGoIfStuck = (m: SliceMachine): SliceMachine => (isUnderWay(m) ? { ...m, end: 'Released' } : m)

const givenUpOn = (stuck: readonly SliceMachine[]): Wait => ({
  predicate: 'ProgressDeadlineExceeded',
  seen: `${counted(stuck.length, 'machine')} did not get ready, such as ${stuck[0]?.name}, and will be let go`,
  unblock: 'no action needed; the rest of the slice continues without them',
})

const halted = (letGo: readonly SliceMachine[]): Wait => ({
  predicate: 'WaitingForOther',
  seen: `${counted(letGo.length, 'machine that has not started is', 'machines that have not started are')} released from the slice, such as ${letGo[0]?.name}`,
  unblock: 'nothing blocks them any longer; they are then requested again',
})

const ending = ({ machines }: SliceView): Wait => ({
  predicate: 'Progressing',
  seen: `${counted(machines.filter((m) => m.isSwitching).length, 'machine is', 'machines are')} between two versions`,
  unblock: 'no machine is switching; the slice is then abandoned',
  isProgress: true,
})

/** Counts first: what a machine says may be long, and is cut. */
const failedOf = ({ failed, allowed, detail }: Tally): string =>
  `${counted(failed, 'machine')} failed (${allowed} allowed)${detail === undefined ? '' : `; ${detail}`}`

/** A machine that waits for something of its own, such as a drain, says for what. */
function stuckAt({ slice, machines }: SliceView, { indexOf }: Surroundings): string {
  const reading = machines.find(isUnderWay)?.reading
  if (reading === undefined) return ''
  const own = reading.machine.status?.waitingFor
  const waits = own === undefined ? '' : ` (waiting, ${own.predicate}: ${own.seen ?? ''})`
  return `; ${reportOf(reading, indexOf(slice.component))}${waits}`
}

/** A slice may have one machine alone: then no other one is waited for. */
export const tooMany = (tally: Tally, switching: number): Wait => ({
  predicate: 'TooManyFailures',
  seen: `${switching === 0 ? '' : `${counted(switching, 'machine is', 'machines are')} still switching; `}${failedOf(tally)}`,
  unblock: switching === 0 ? 'the slice fails' : 'those machines finish; the slice then fails',
})

const retried = ({ name }: SliceMachine): Wait => ({
  predicate: 'WaitingForOther',
  seen: `machine ${name} still reports its last attempt`,
  unblock: 'the machine controller orders the next attempt',
})
