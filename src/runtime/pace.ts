// Lets something that many events ask for take half of the time at most: after a look that took long, what comes is gathered for as long. A look that is
// short follows at once, so one event among quiet is never held up.
import type { Clock } from '#lib/clock.ts'

/** Whatever a look takes, news is not held up longer. */
const MOST_MS = 250

export class Pace {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>
  #notBefore = -Infinity

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>) {
    this.#clock = clock
  }

  async run<T>(look: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const waitMs = this.#notBefore - this.#clock.monotonic()
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal)
    const from = this.#clock.monotonic()
    try {
      return await look()
    } finally {
      const now = this.#clock.monotonic()
      this.#notBefore = now + Math.min(MOST_MS, now - from)
    }
  }
}
