// This machine's clock. Programs pass it to their parts; decisions never read it.
import { type Clock, sleepOn } from './clock.ts'

/** setTimeout fires at once above 2^31-1; longer waits are capped, and callers check the time themselves. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const t = setTimeout(fn, Math.min(Math.max(0, ms), LONGEST_TIMER_MS))
    t.unref()
    return { cancel: () => clearTimeout(t) }
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
}
