// A clock that moves only when told to. Wall and monotonic time are separate, so that a jump of the wall clock moves no timer.
import { DeadlineHeap } from '#runtime/deadlines.ts'
import { type Clock, type Timer, sleepOn } from '#lib/clock.ts'

/** A fixed, recognisable start: 2026-01-05 00:00:00 UTC, a Monday. */
export const VIRTUAL_EPOCH_MS = Date.UTC(2026, 0, 5)

/** Timers fired by one `runUntilIdle`; more means that something never settles. */
const MOST_TIMERS = 1_000_000

interface Armed {
  readonly fn: () => void
  cancelled: boolean
}

export class VirtualClock implements Clock {
  #wallOffset: number
  #monotonic = 0
  readonly #timers = new DeadlineHeap<Armed>()

  constructor(startWallMs = VIRTUAL_EPOCH_MS) {
    this.#wallOffset = startWallMs
  }

  now(): number {
    return this.#monotonic + this.#wallOffset
  }

  monotonic(): number {
    return this.#monotonic
  }

  after(ms: number, fn: () => void): Timer {
    const armed: Armed = { fn, cancelled: false }
    this.#timers.push(armed, this.#monotonic + Math.max(0, ms))
    return { cancel: () => void (armed.cancelled = true) }
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal)
  }

  /** The wall clock is set forward or back; monotonic time and all timers stay as they are. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms
  }

  /** Monotonic time of the next timer that is still wanted. */
  nextTimerAt(): number | undefined {
    for (let top = this.#timers.peek(); top !== undefined; top = this.#timers.peek()) {
      if (!top.key.cancelled) return top.dueAt
      this.#timers.pop()
    }
    return undefined
  }

  /** Moves to the next timer and fires that one alone; does not wait for what it sets in motion. False when there is none. */
  fireNext(noLaterThan = Infinity): boolean {
    const at = this.nextTimerAt()
    if (at === undefined || at > noLaterThan) return false
    const due = this.#timers.pop()
    this.#monotonic = Math.max(this.#monotonic, at)
    due?.key.fn()
    return true
  }

  /** Moves time without firing anything: what a process sees that was stopped (SIGSTOP) for so long. */
  skip(ms: number): void {
    this.#monotonic += ms
  }

  /** Fires every timer of the next `ms` in order, letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms
    await settled()
    while (this.fireNext(end)) await settled()
    this.#monotonic = Math.max(this.#monotonic, end)
  }

  /** Fires timers until none is left, or until `withinMs` have passed. Answers how much time went by. */
  async runUntilIdle(withinMs = Infinity): Promise<number> {
    const start = this.#monotonic
    await settled()
    for (let fired = 0; this.fireNext(start + withinMs); fired++) {
      if (fired > MOST_TIMERS) throw new Error(`never idle: ${MOST_TIMERS} timers fired`)
      await settled()
    }
    return this.#monotonic - start
  }
}

/** Resolves once every promise chain that can move without a timer has moved. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
