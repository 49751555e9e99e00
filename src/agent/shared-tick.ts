// A clock whose longer waits end together: dozens of periods that each woke the process at a moment of their own are due at the next full second, so that a
// node at rest wakes once for all of them. Short waits are as precise as before.
import { sleepOn, type Clock, type Timer } from '#lib/clock.ts'

const TICK_MS = 1_000
/** What is due with each tick waits a little less than one: at a whole one it would be a moment late for the next, each time. */
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
      // A timer may come a moment early; what is not due yet waits for one more.
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
    // Two who hand in the same function are still two.
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
