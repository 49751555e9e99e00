// A clock whose wall time a test moves by days; durations go on as they are.
import { systemClock, type Clock } from '#lib/clock.ts'

export interface ShiftedClock extends Clock {
  /** From now on it is so much later. */
  shift(ms: number): void
}

export function shiftedClock(): ShiftedClock {
  let shiftedMs = 0
  return {
    ...systemClock,
    now: () => systemClock.now() + shiftedMs,
    shift: (ms) => void (shiftedMs += ms),
  }
}
