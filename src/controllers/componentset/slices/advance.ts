// Moves one slice that waits for its permit or switches: begin, replan, settle, fail, stall or abort, all by the shared state table.
import { readSliceTarget } from '#api/protocol/component-order.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { continuedWith } from '#api/protocol/part.ts'
import type { SliceFacts } from '#api/protocol/slice.ts'
import { assertNever } from '#lib/errors.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { without } from '#lib/without.ts'
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import { renewalOf } from '#permits/holder.ts'
import { endedWait, permitWait } from '#permits/permit-wait.ts'
import { STAGING_REASONS } from '#api/protocol/staging-reasons.ts'
import { stagingRefusal } from '#nodes/placement/staging-refusal.ts'
import { hasEnded, wasUnattended } from '#permits/permits.ts'
import type { MachineResult } from '#permits/let-go.ts'
import type { SetAction } from '../actions.ts'
import { reportOf } from '../revisions/blocks.ts'
import type { Rollout, Slice } from '../seen.ts'
import { LOST_AFTER_MS, silentSince } from '../members/reading.ts'
import { type SliceMachine, type SliceView, type Surroundings, isFailed } from './slice-view.ts'
import { type Wait, waitingSince } from '../reporting/wait.ts'

/** Why a slice is no longer needed. */
export type GivenUp = 'superseded' | 'blocked' | 'aborted'

export interface Moved {
  /** Undefined: the slice was given up and its entry is removed. */
  readonly slice: Slice | undefined
  readonly actions: readonly SetAction[]
  /** Set if the slice just failed. */
  readonly failure?: string
}

export interface Tally {
  readonly failed: number
  readonly allowed: number
  /** Machines released because they did not get ready. */
  readonly stuck?: number
  /** The report of the last failed machine. */
  readonly detail?: string
}

/** What moves a slice, besides its observed state. */
interface SliceTurn {
  readonly rollout: Rollout
  readonly tally: Tally
  readonly givenUp: GivenUp | undefined
}

/** `viewOf` reads its machines: a slice that waits for its step, or that is over, needs none of them. */
export function moveSlice(slice: Slice, viewOf: () => SliceView, around: Surroundings, turn: SliceTurn): Moved {
  const { givenUp } = turn
  switch (slice.phase) {
    case 'Planned':
    case 'Inspecting':
    case 'Soaking':
      return givenUp === undefined ? { slice, actions: [] } : abort(viewOf(), around, givenUp)
    case 'AwaitingPermit': {
      const view = viewOf()
      if (givenUp !== undefined) return abort(view, around, givenUp)
      return view.permit === undefined ? requestAgain(view, around) : awaitPermit(view, view.permit, around)
    }
    case 'Switching':
      return whileSwitching(viewOf(), around, turn)
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
  // A report of the previous attempt must not count for this one. The machine controller raises the attempt first.
  const stuck = machines.find((m) => m.standing === 'Failed' && failedBefore(m, view, around))
  if (isGranted && stuck !== undefined) return waits(slice, retried(stuck), around, renewal(permit, around.now))
  const begun = around.rules.nextPhase(slice.phase, 'begin', { permitGrantedNow: isGranted })
  if (begun !== undefined) return waits({ ...slice, phase: begun }, progress(view), around)
  const replanned = around.rules.nextPhase(slice.phase, 'replan', { permitEnded: hasEnded(permit) })
  if (replanned !== undefined) return waits({ ...slice, phase: replanned }, endedWait(permit), around)
  return withoutPermit(view, around) ?? waits(slice, permitWait(permit), around)
}

/**
 * Some machines no longer need the permit: they have the version without a switch, were deleted, or fell silent before they started. A slice with
 * only such machines ends before the Defender answers. The Defender does not answer about silent machines, so a dead one would block the rollout
 * forever.
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

/** Nothing was ordered under an ungranted permit. The Machine is read again before the result is written, and gets no order afterwards. */
const releasedIfSilent = (m: SliceMachine): SliceMachine =>
  m.end === 'Lost' && m.standing !== 'Switching' ? { ...m, end: 'Released' } : m

/** The permit was requested before the slice was recorded, so a missing permit was deleted. */
function requestAgain({ slice }: SliceView, around: Surroundings): Moved {
  const phase = around.rules.nextPhase(slice.phase, 'replan', { permitEnded: true }) ?? slice.phase
  return waits({ ...slice, phase }, PERMIT_ENDED, around)
}

/** A failure of this slice's attempt is a failure under its permit: orders can be sent before this phase ends. Node clocks are not used. */
function failedBefore({ reading, targetUid }: SliceMachine, { slice }: SliceView, { indexOf }: Surroundings): boolean {
  const order = reading?.orders[indexOf(slice.component)]
  return targetUid !== undefined && order !== undefined && order.slice !== slice.startedAt
}

function whileSwitching(view: SliceView, around: Surroundings, { rollout, tally, givenUp }: SliceTurn): Moved {
  const { permit, machines } = view
  // The controllers were away, so machines got no orders and no report was heard. That is not the version's fault, so the wait begins again.
  const wasAway = permit !== undefined && wasUnattended(permit, around.now)
  const slice: Slice = wasAway ? without(view.slice, 'waitingFor') : view.slice
  const failed = machines.filter((m) => isFailed(m, around.isOutage)).length
  const hasNoPermit = permit === undefined || hasEnded(permit)
  // A result counts once it is in the permit. The machine was read again before that write.
  const isOver = machines.every((m) => m.end === 'Lost' || (m.targetUid === undefined ? m.end : m.result) !== undefined)
  const isReported = isOver || (hasNoPermit && machines.every((m) => m.end !== undefined))
  const isAbove = tally.failed > tally.allowed
  const overdue = Date.parse(slice.waitingFor?.since ?? '') + parseDuration(rollout.progressDeadline)
  const facts: SliceFacts = {
    noMachineSwitching: !view.isAnySwitching,
    machinesReported: isReported,
    failuresWithin: !isAbove,
    failuresAbove: isAbove,
    deadlinePassed: !wasAway && !around.isOutage && !isHeldUp(machines) && around.now >= overdue,
    permitEnded: hasNoPermit,
    givenUp: givenUp !== undefined,
  }
  const counts = failed === 0 ? slice : { ...slice, failed }
  const isDeadline = facts.deadlinePassed === true && facts.noMachineSwitching === true
  const stuck = isDeadline && !isReported ? machines.filter(isUnderWay) : []
  // A few machines that do not get ready are released, like a few failures. Beyond the limit, the revision is blamed.
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
    // A step counts the machines that tried the version. If none came through, the step proves nothing.
    const tried = new Set(machines.filter((m) => wasTried(m, around.isOutage)).map((m) => m.name))
    const isProof = machines.some((m) => m.end === 'Succeeded' || m.end === undefined)
    if (tried.size === 0 || !isProof) return { slice: undefined, actions: report }
    return waits({ ...continuedWith(counts, tried), phase: settled }, STEP_OPEN, around, report)
  }
  // A result is in the permit one turn after the machine has it.
  const hasEnds = isReported || machines.every((m) => m.end !== undefined)
  const stalled = hasEnds ? undefined : nextPhase(slice.phase, 'stall', facts)
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
      ? (mateWait(machines) ?? permitWait(permit))
      : (refused(view, around) ?? silent(view) ?? progress(view))
  return waits(counts, isAbove ? tooMany(tally, machines.filter((m) => m.isSwitching).length) : wait, around, more)
}

const isUnderWay = (m: SliceMachine): boolean => m.end === undefined && !m.isUngranted && m.awaits === undefined

/** The remaining machines wait for the Defender, or for another component of their reboot. That is never the version's fault, however long it takes. */
const isHeldUp = (machines: readonly SliceMachine[]): boolean =>
  machines.some((m) => m.end === undefined) && !machines.some(isUnderWay)

/** Excludes machines that were released, or that fell silent before they started or together with many others. */
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

/** Results that can be written. None for a permit that has ended. */
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

/** A machine refuses the ordered version. Its message is shown. It counts as no progress, so the deadline ends the wait. */
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

/** The result of the switch is unknown until the agent sends heartbeats again or the machine counts as lost. */
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

function mateWait(machines: readonly SliceMachine[]): Wait | undefined {
  const found = machines.find((m) => m.end === undefined && m.awaits !== undefined)
  return (
    found && {
      predicate: 'WaitingForOther',
      seen: `${found.name} is ready, and waits for ${found.awaits}: one reboot for both`,
      unblock: `${found.awaits} is staged and permitted there, or its slice gives the machine up`,
    }
  )
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

/** Counts first: a machine's report may be long and get cut. */
export const failedOf = ({ failed, allowed, detail }: Tally): string =>
  `${counted(failed, 'machine')} failed (${allowed} allowed)${detail === undefined ? '' : `; ${detail}`}`

/** A machine that waits for something of its own, such as a drain, reports what. */
function stuckAt({ slice, machines }: SliceView, { indexOf }: Surroundings): string {
  const reading = machines.find(isUnderWay)?.reading
  if (reading === undefined) return ''
  const own = reading.machine.status?.waitingFor
  const waits = own === undefined ? '' : ` (waiting, ${own.predicate}: ${own.seen ?? ''})`
  return `; ${reportOf(reading, indexOf(slice.component))}${waits}`
}

/** A slice may have a single machine. In that case there is no other to wait for. */
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
