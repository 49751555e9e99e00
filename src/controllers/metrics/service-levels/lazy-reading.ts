// A reading that is made only on request: the last value at once, and a new one in the background when it is too old. Without a scraper it costs nothing.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'

export interface LazyOptions<T> {
  readonly what: string
  readonly read: () => Promise<T>
  readonly maxAgeMs: number
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

export class LazyReading<T> {
  readonly #o: LazyOptions<T>
  #value: T | undefined
  #readMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(options: LazyOptions<T>) {
    this.#o = options
  }

  /** Undefined before the first reading is there, and once a reading failed: an old sum must not pass for one of now. */
  get value(): T | undefined {
    const { clock, maxAgeMs } = this.#o
    if (this.#reading === undefined && clock.monotonic() - this.#readMs >= maxAgeMs)
      this.#reading = this.#read().finally(() => void (this.#reading = undefined))
    return this.#value
  }

  /** For tests: until the reading in the background has ended. */
  async settled(): Promise<void> {
    await this.#reading
  }

  async #read(): Promise<void> {
    const { what, read, clock, log } = this.#o
    // Also after a failure: a server that refuses is not asked with each scrape.
    this.#readMs = clock.monotonic()
    try {
      this.#value = await read()
    } catch (e) {
      this.#value = undefined
      log.warn(`cannot read ${what} for the metrics`, { error: messageOf(e) })
    }
  }
}
