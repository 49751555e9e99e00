// What a provider remembers about hosts between reads, because clouds answer from lagging replicas: a new host may be missing, and one being deleted may seem
// alive. Decides when a missing host no longer exists.
import type { Clock } from '#lib/clock.ts'

/** A few dozen bytes each. The oldest are forgotten; a missing one then counts as gone after `visibleWithinMs`. */
const MOST_REMEMBERED = 50_000

export class Sightings {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #visibleWithinMs: number
  /** Since when it has been missing from every answer. */
  readonly #missing = new Map<string, number>()
  readonly #leaving = new Set<string>()
  readonly #seen = new Set<string>()
  readonly #unwanted = new Set<string>()

  constructor(clock: Pick<Clock, 'monotonic'>, visibleWithinMs: number) {
    this.#clock = clock
    this.#visibleWithinMs = visibleWithinMs
  }

  seen(id: string, isLeaving: boolean): void {
    this.#missing.delete(id)
    remember(this.#seen, id)
    if (isLeaving) this.leaving(id)
  }

  /** Its deletion was ordered or observed. */
  leaving(id: string): void {
    remember(this.#leaving, id)
  }

  /** Its deletion was requested without an answer: it may have been ordered. */
  unwanted(id: string): void {
    remember(this.#unwanted, id)
  }

  isLeaving(id: string): boolean {
    return this.#leaving.has(id)
  }

  /** Whether a host missing from a complete answer is certainly gone. */
  isGone(id: string): boolean {
    if (this.#leaving.has(id) || (this.#unwanted.has(id) && this.#seen.has(id))) return true
    const now = this.#clock.monotonic()
    const since = this.#missing.get(id)
    if (since !== undefined) return now - since >= this.#visibleWithinMs
    this.#missing.set(id, now)
    dropOldest(this.#missing)
    return this.#visibleWithinMs === 0
  }
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id)
  dropOldest(ids)
}

function dropOldest(from: Map<string, unknown> | Set<string>): void {
  for (const id of from.keys()) {
    if (from.size <= MOST_REMEMBERED) return
    from.delete(id)
  }
}
