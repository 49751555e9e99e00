// A clock whose longer waits end together: dozens of periods that each woke the process separately are due at the next full second, so that
// an idle node wakes once for all of them. Short waits are as precise as before.
import { sleepOn, type Clock, type Timer } from '#lib/clock.ts'

const TICK_MS = 1_000
/** Period of work that is due on every tick: a little less than a tick, or it would miss the next one by a moment each time. */
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
    // The same function registered twice counts as two.
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
