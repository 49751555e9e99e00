// A clock that rounds longer waits up to the next full second, so that dozens of periodic tasks wake an idle node once instead of separately. Short
// waits stay as precise as before.
import { sleepOn, type Clock, type Timer } from '#lib/clock.ts'

const TICK_MS = 1_000
/** Period of work that runs on every tick: a little less than a tick, or it would just miss the next one every time. */
export const EACH_TICK_MS = 900

export function withSharedTick(clock: Clock): Clock {
  const due = new Map<number, Set<() => void>>()
  let armed: { readonly tick: number; readonly timer: Timer } | undefined

  const arm = (): void => {
    const next = Math.min(...due.keys())
    if (armed !== undefined && armed.tick <= next) return
    armed?.timer.cancel()
    armed = undefined
    if (!Number.isFinite(next)) return
    const timer = clock.after(next * TICK_MS - clock.monotonic(), () => {
      armed = undefined
      const now = clock.monotonic()
      // A timer may fire slightly early; anything not due yet waits for another one.
      for (const tick of [...due.keys()].filter((t) => t * TICK_MS <= now + 1).sort((a, b) => a - b)) {
        const all = due.get(tick) ?? []
        due.delete(tick)
        for (const fn of all) fn()
      }
      arm()
    })
    armed = { tick: next, timer }
  }

  const after = (ms: number, fn: () => void): Timer => {
    if (ms < EACH_TICK_MS) return clock.after(ms, fn)
    const tick = Math.ceil((clock.monotonic() + ms) / TICK_MS)
    const all = due.get(tick) ?? new Set()
    // Registering the same function twice counts as two.
    const own = (): void => fn()
    due.set(tick, all.add(own))
    arm()
    return {
      cancel: () => {
        all.delete(own)
        if (all.size === 0 && due.get(tick) === all) due.delete(tick)
      },
    }
  }

  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after,
    sleep: (ms, signal) => sleepOn({ after }, ms, signal),
  }
}
