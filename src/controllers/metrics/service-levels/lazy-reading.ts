// A value that is read on demand: returns the last one at once, and refreshes an old one in the background. Costs nothing while no one scrapes.
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

  /** Undefined until the first read has finished, and after a failed one: an old sum must not pass for a current one. */
  get value(): T | undefined {
    const { clock, maxAgeMs } = this.#o
    if (this.#reading === undefined && clock.monotonic() - this.#readMs >= maxAgeMs)
      this.#reading = this.#read().finally(() => void (this.#reading = undefined))
    return this.#value
  }

  /** For tests: resolves when the background read has ended. */
  async settled(): Promise<void> {
    await this.#reading
  }

  async #read(): Promise<void> {
    const { what, read, clock, log } = this.#o
    // Also after a failure: otherwise each scrape would ask a server that refuses.
    this.#readMs = clock.monotonic()
    try {
      this.#value = await read()
    } catch (e) {
      this.#value = undefined
      log.warn(`cannot read ${what} for the metrics`, { error: messageOf(e) })
    }
  }
}
