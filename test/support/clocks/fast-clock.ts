// A clock on which time passes many times as fast: an hour in a second, for what a server does by itself after a while.
import { sleepOn, type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'

export function fastClock(times: number): Clock {
  const began = { wall: systemClock.now(), monotonic: systemClock.monotonic() }
  const passed = () => (systemClock.monotonic() - began.monotonic) * times
  const clock: Clock = {
    now: () => began.wall + passed(),
    monotonic: passed,
    after: (ms, fn) => systemClock.after(ms / times, fn),
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
  }
  return clock
}
