// Decides which components of a set reboot their machines together: their slices open in the same pass for the same machines, each with its own permit
// and its own ladder, and the machine gets both orders at once. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { activeMachines, isActiveIn } from '#api/protocol/part.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Survey } from '../members/candidates.ts'
import { type Reading, standingOf } from '../members/reading.ts'
import { readSliceTarget } from '#api/protocol/component-order.ts'
import { isSliceTo } from '../revisions/tracks.ts'
import type { Wait } from '../reporting/wait.ts'
import type { Slice } from '../seen.ts'
import type { StepPlace } from './open.ts'

/** One component after its slices were moved, and before others open. */
export interface Ladder {
  readonly survey: Survey
  readonly slices: readonly Slice[]
  readonly spec: MachineComponentSpec | undefined
  /** The next slice. Undefined: none may open in this pass. */
  readonly place: StepPlace | undefined
  readonly isFailing: boolean
}

/** A way back waits for nothing, and nothing of a rollout may ride on it. */
const reboots = ({ spec, survey: { track, isGoingBack } }: Ladder): boolean =>
  spec?.disruption === 'Reboot' && track.target?.version !== undefined && !track.isRollback && !isGoingBack

/** Machines that this pass opened for another component that reboots them. */
export const joinable = (own: Ladder, rebooting: ReadonlySet<string>): readonly Reading[] =>
  rebooting.size > 0 && reboots(own) ? own.survey.sound().filter(({ name }) => rebooting.has(name)) : []

export const rebootedBy = (own: Ladder, opened: readonly Slice[]): readonly string[] =>
  reboots(own) ? opened.flatMap(activeMachines) : []

/**
 * Both climb the same ladder, and the other one is still in the step before: seconds apart, mostly. Otherwise the one that is first would reboot the
 * machines of the next step alone. A step of the other ends by its own deadlines.
 */
export function laterTogether(own: Ladder, all: readonly Ladder[]): Wait | undefined {
  const { place } = own
  if (place === undefined || place.number > 0 || place.step === 0 || !reboots(own)) return undefined
  const late = all.find(
    (one) =>
      one !== own && reboots(one) && !one.isFailing && one.survey.sound().length > 0 && isInStep(one, place.step - 1),
  )
  if (late === undefined) return undefined
  const { component } = late.survey.track
  return {
    predicate: 'WaitingForOther',
    seen: `the next step reboots its machines for ${component} too: one reboot for both`,
    unblock: `the step of ${component} passes or fails`,
  }
}

function isInStep({ slices, place, survey: { track } }: Ladder, step: number): boolean {
  if (place !== undefined) return false
  const mine = slices.filter((w) => isSliceTo(w, track.target))
  return mine.length > 0 && mine.reduce((most, w) => Math.max(most, w.step), -1) === step
}

export interface SharedSlices {
  /** Switching or awaiting their permits, with versions that reboot. */
  readonly slices: readonly Slice[]
  readonly indexOf: (component: string) => number
  readonly permits: ReadonlyMap<string, OperationPermit>
}

/** The component that a machine waits for before its order: it reboots the machine too, and is not staged or permitted there yet. */
export function awaitedMate(
  reading: Reading,
  slice: Slice,
  { slices, indexOf, permits }: SharedSlices,
): string | undefined {
  const isMine = (w: Slice) => w.component === slice.component
  if (slices.length < 2 || !slices.some(isMine)) return undefined
  if (reading.reports[indexOf(slice.component)]?.state !== 'Staged') return undefined
  return slices.find((w) => !isMine(w) && isActiveIn(w, reading.name) && isAwaited(reading, w))?.component

  function isAwaited({ reports, uid }: Reading, mate: Slice): boolean {
    const index = indexOf(mate.component)
    if (standingOf(reading, index, readSliceTarget(mate)) !== 'Pending') return false
    const verdict = permits.get(mate.permit ?? '')?.status?.verdicts?.find((v) => v.target === uid)?.verdict
    return verdict !== 'Denied' && (reports[index]?.state !== 'Staged' || verdict !== 'Granted')
  }
}
