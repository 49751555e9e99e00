// The steps of a rollout: how many machines each step may bring to the new version at work. The last step repeats.
import { type Share, shareOf } from './share.ts'

/** A step closes after so many slices even when it is not full: with a tiny budget a large step would otherwise list hundreds. */
export const MOST_SLICES_OF_STEP = 10

/** Machines of the step; a percentage is of the machines that count, and at least one. */
export function stepSize(steps: readonly Share[], step: number, counting: number): number {
  const share = steps[Math.min(step, steps.length - 1)]
  return share === undefined ? 1 : Math.max(1, shareOf(share, counting))
}
