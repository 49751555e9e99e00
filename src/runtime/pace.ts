// Limits work that many events request to half of the time: after a long run, events collect for just as long. A short run may follow at once, so a single
// event is not delayed.
import type { Clock } from '#lib/clock.ts'

/** Upper limit of the delay, however long a run takes. */
const MOST_MS = 250

export class Pace {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>
  #notBefore = -Infinity

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>) {
    this.#clock = clock
  }

  async run<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const waitMs = this.#notBefore - this.#clock.monotonic()
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal)
    const from = this.#clock.monotonic()
    try {
      return await read()
    } finally {
      const now = this.#clock.monotonic()
      this.#notBefore = now + Math.min(MOST_MS, now - from)
    }
  }
}
