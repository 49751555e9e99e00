// Re-adds keys that a full queue refused: walks all keys, adding as many at a time as fit, until one full pass was accepted.
import type { Clock } from '#lib/clock.ts'
import type { Added } from './queue.ts'

/** How long refused keys wait before the next try. */
export const REFILL_MS = 1_000

export class Refill {
  readonly #clock: Pick<Clock, 'after'>
  readonly #allKeys: () => Iterable<string>
  readonly #add: (key: string) => Added
  #rest: Iterator<string> | undefined
  #isMissingMore = false

  constructor(clock: Pick<Clock, 'after'>, allKeys: () => Iterable<string>, add: (key: string) => Added) {
    this.#clock = clock
    this.#allKeys = allKeys
    this.#add = add
  }

  /** A key was refused. The current pass may already be past it, so another pass follows. */
  refused(): void {
    if (this.#rest === undefined) this.#begin()
    else this.#isMissingMore = true
  }

  #begin(): void {
    this.#isMissingMore = false
    this.#rest = this.#allKeys()[Symbol.iterator]()
    this.#clock.after(REFILL_MS, () => this.#continue(this.#rest?.next()))
  }

  #continue(from: IteratorResult<string> | undefined): void {
    let next = from
    while (next !== undefined && next.done !== true) {
      const held = next
      if (this.#add(held.value) === 'Full') {
        this.#clock.after(REFILL_MS, () => this.#continue(held))
        return
      }
      next = this.#rest?.next()
    }
    this.#rest = undefined
    if (this.#isMissingMore) this.#begin()
  }
}
