// The order in which waiting keys are handed out: first in, first out, urgent keys first, without starving the others.

/** After this many urgent keys in a row one other key is taken, so that a storm of urgent keys slows the rest down by a bounded factor. */
export const URGENT_IN_A_ROW = 8

/** Removed entries are swept once they outnumber the live ones by this much: sweeps stay rare and memory bounded. */
const SWEEP_MARGIN = 1_024

interface Place<K> {
  readonly key: K
  live: boolean
}

class Fifo<K> {
  #places: Place<K>[] = []
  #head = 0
  live = 0

  push(key: K): Place<K> {
    const place = { key, live: true }
    this.#places.push(place)
    this.live++
    return place
  }

  remove(place: Place<K>): void {
    if (!place.live) return
    place.live = false
    this.live--
    this.#sweep()
  }

  shift(): K | undefined {
    while (this.#head < this.#places.length) {
      const place = this.#places[this.#head++]
      if (!place?.live) continue
      place.live = false
      this.live--
      this.#sweep()
      return place.key
    }
    return undefined
  }

  #sweep(): void {
    if (this.#places.length <= 2 * this.live + SWEEP_MARGIN) return
    this.#places = this.#places.slice(this.#head).filter((p) => p.live)
    this.#head = 0
  }
}

export class WaitingKeys<K> {
  readonly #urgent = new Fifo<K>()
  readonly #normal = new Fifo<K>()
  readonly #places = new Map<K, { readonly place: Place<K>; readonly urgent: boolean }>()
  #urgentInARow = 0

  get size(): number {
    return this.#places.size
  }

  /** A waiting key keeps its place; becoming urgent moves it to the urgent lane. */
  push(key: K, urgent: boolean): void {
    const waiting = this.#places.get(key)
    if (waiting !== undefined) {
      if (waiting.urgent || !urgent) return
      this.#normal.remove(waiting.place)
    }
    const lane = urgent ? this.#urgent : this.#normal
    this.#places.set(key, { place: lane.push(key), urgent })
  }

  shift(): K | undefined {
    const yieldsTurn = this.#urgentInARow >= URGENT_IN_A_ROW && this.#normal.live > 0
    const fromUrgent = this.#urgent.live > 0 && !yieldsTurn
    this.#urgentInARow = fromUrgent ? this.#urgentInARow + 1 : 0
    const key = (fromUrgent ? this.#urgent : this.#normal).shift()
    if (key !== undefined) this.#places.delete(key)
    return key
  }

  has(key: K): boolean {
    return this.#places.has(key)
  }

  keys(): readonly K[] {
    return [...this.#places.keys()]
  }

  clear(): void {
    while (this.#places.size > 0) this.shift()
  }
}
