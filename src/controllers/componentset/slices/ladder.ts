// The steps of a rollout: the total number of machines that each step may bring to the new version. The last step repeats.
import { type Share, shareOf } from './share.ts'

/** A step closes after this many slices even if it is not full. With a tiny budget, a large step would otherwise list hundreds. */
export const MOST_SLICES_OF_STEP = 10

/** The number of steps to bring all counting machines to the version. The last one repeats. */
export function stepCount(steps: readonly Share[], counting: number): number {
  let left = counting
  let count = 0
  for (; count < steps.length && left > 0; count++) left -= stepSize(steps, count, counting)
  return count + Math.max(0, Math.ceil(left / stepSize(steps, steps.length - 1, counting)))
}

/** Counted from 1. If the ladder got shorter in the meantime, shows its last step. */
export const stepName = (step: number, of: number): string => `step ${step + 1} of ${Math.max(step + 1, of)}`

/** Number of machines in the step. A percentage is of the counting machines, and at least one. */
export function stepSize(steps: readonly Share[], step: number, counting: number): number {
  const share = steps[Math.min(step, steps.length - 1)]
  return share === undefined ? 1 : Math.max(1, shareOf(share, counting))
}
