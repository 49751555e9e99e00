// A clock on which a test lets days pass at once: wall clock and durations alike, and what was to happen meanwhile happens then.
import { sleepOn, type Clock, type Timer } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'

export interface ShiftedClock extends Clock {
  /** So much time passes now. */
  shift(ms: number): void
}

interface Waiting {
  readonly at: number
  readonly fn: () => void
  timer: Timer
}

export function shiftedClock(): ShiftedClock {
  let shiftedMs = 0
  const waiting = new Set<Waiting>()
  const monotonic = () => systemClock.monotonic() + shiftedMs
  const arm = (w: Waiting): void => {
    w.timer.cancel()
    w.timer = systemClock.after(Math.max(0, w.at - monotonic()), () => {
      waiting.delete(w)
      w.fn()
    })
  }
  const clock: ShiftedClock = {
    now: () => systemClock.now() + shiftedMs,
    monotonic,
    after: (ms, fn) => {
      const w: Waiting = { at: monotonic() + ms, fn, timer: { cancel: () => undefined } }
      waiting.add(w)
      arm(w)
      return {
        cancel: () => {
          waiting.delete(w)
          w.timer.cancel()
        },
      }
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    shift: (ms) => {
      shiftedMs += ms
      for (const w of waiting) arm(w)
    },
  }
  return clock
}
