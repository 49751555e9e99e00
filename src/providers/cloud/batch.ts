// Batches reads of single hosts that arrive within a tenth of a second into one call.
import type { Clock } from '#lib/clock.ts'

/** Both vendors' limit per call. */
const MOST_IN_BATCH = 100
const WAIT_MS = 100

interface Waiting<T> {
  readonly answered: (value: T | undefined) => void
  readonly failed: (why: unknown) => void
}

export class Batch<T> {
  readonly #clock: Pick<Clock, 'after'>
  readonly #load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>
  #open = new Map<string, Waiting<T>[]>()

  constructor(clock: Pick<Clock, 'after'>, load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>) {
    this.#clock = clock
    this.#load = load
  }

  /** Undefined if the complete answer does not contain it. */
  get(id: string): Promise<T | undefined> {
    return new Promise((answered, failed) => {
      if (this.#open.size === 0) {
        const mine = this.#open
        this.#clock.after(WAIT_MS, () => this.#close(mine))
      }
      const same = this.#open.get(id)
      if (same === undefined) this.#open.set(id, [{ answered, failed }])
      else same.push({ answered, failed })
      if (this.#open.size >= MOST_IN_BATCH) this.#close(this.#open)
    })
  }

  #close(batch: Map<string, Waiting<T>[]>): void {
    if (this.#open !== batch) return
    this.#open = new Map()
    this.#load([...batch.keys()]).then(
      (found) => {
        for (const [id, waiting] of batch) for (const w of waiting) w.answered(found.get(id))
      },
      (why: unknown) => {
        for (const waiting of batch.values()) for (const w of waiting) w.failed(why)
      },
    )
  }
}
