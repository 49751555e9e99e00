// How long something that failed waits before it is tried again: twice as long after each failure, up to a bound. Something else starts over.
import type { Clock } from '#lib/clock.ts'

export class GrowingDelay {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #firstMs: number
  readonly #mostMs: number
  #failed: { readonly what: string; readonly times: number; readonly until: number } | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, firstMs: number, mostMs: number) {
    this.#clock = clock
    this.#firstMs = firstMs
    this.#mostMs = mostMs
  }

  noteFailure(what: string): void {
    const times = this.#failed?.what === what ? this.#failed.times : 0
    const delayMs = Math.min(this.#mostMs, this.#firstMs * 2 ** times)
    this.#failed = { what, times: times + 1, until: this.#clock.monotonic() + delayMs }
  }

  leftMs(what: string | undefined): number {
    if (this.#failed === undefined || this.#failed.what !== what) return 0
    return Math.max(0, this.#failed.until - this.#clock.monotonic())
  }

  /** It failed last, whether or not its wait is over. */
  isOf(what: string | undefined): boolean {
    return what !== undefined && this.#failed?.what === what
  }

  clear(): void {
    this.#failed = undefined
  }
}
