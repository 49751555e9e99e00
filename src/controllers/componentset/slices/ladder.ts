// The steps of a rollout: how many machines each step may bring to the new version in total. The last step repeats.
import { type Share, shareOf } from './share.ts'

/** A step closes after this many slices even when it is not full: with a tiny budget a large step would otherwise list hundreds. */
export const MOST_SLICES_OF_STEP = 10

/** How many steps it takes to bring all counted machines to the version: the last one repeats. */
export function stepCount(steps: readonly Share[], counting: number): number {
  let left = counting
  let count = 0
  for (; count < steps.length && left > 0; count++) left -= stepSize(steps, count, counting)
  return count + Math.max(0, Math.ceil(left / stepSize(steps, steps.length - 1, counting)))
}

/** As people count: the first step is step 1. A ladder that grew shorter in the meantime is at its last step. */
export const stepName = (step: number, of: number): string => `step ${step + 1} of ${Math.max(step + 1, of)}`

/** Machines of the step; a percentage is of the machines that count, and at least one. */
export function stepSize(steps: readonly Share[], step: number, counting: number): number {
  const share = steps[Math.min(step, steps.length - 1)]
  return share === undefined ? 1 : Math.max(1, shareOf(share, counting))
}
