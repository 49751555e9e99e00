// Decides when to log a frequently repeated line again: at once if its text changes, otherwise after growing pauses.
import type { Clock } from './clock.ts'

const FIRST_PAUSE_MS = 60_000
const LONGEST_PAUSE_MS = 3_600_000

export class RepeatedLine {
  readonly #clock: Pick<Clock, 'monotonic'>
  #text: string | undefined
  #dueAt = 0
  #pauseMs = FIRST_PAUSE_MS
  #unlogged = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** How often the line was skipped since it was last logged; undefined to skip it now. */
  due(text: string): { readonly unlogged: number } | undefined {
    const now = this.#clock.monotonic()
    const isNew = text !== this.#text
    if (!isNew && now < this.#dueAt) {
      this.#unlogged++
      return undefined
    }
    this.#pauseMs = isNew ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
    this.#text = text
    this.#dueAt = now + this.#pauseMs
    const unlogged = isNew ? 0 : this.#unlogged
    this.#unlogged = 0
    return { unlogged }
  }

  /** The problem is over: the next occurrence is logged at once. */
  ended(): void {
    this.#text = undefined
    this.#unlogged = 0
  }
}
