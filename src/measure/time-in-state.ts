// How long many things were in which state, exact from their transitions: each thing adds the time since its last change to the labels that it had. Pure: the
// clock is handed in. The number of label combinations is bounded.
export type Labels = Readonly<Record<string, string>>

interface Kept {
  readonly labels: Labels
  readonly sum: string
  readonly sinceMs: number
}

export interface LabelledSeconds {
  readonly labels: Labels
  readonly seconds: number
}

/** Distinct combinations of labels; later ones share one, with every label `other`. */
const MOST_SUMS = 1_000
const OTHER = 'other'

export class TimeInState {
  readonly #most: number
  readonly #things = new Map<string, Kept>()
  readonly #sums = new Map<string, { readonly labels: Labels; ms: number }>()

  constructor(most = MOST_SUMS) {
    this.#most = most
  }

  /** The thing is in this state from now on. */
  enter(key: string, labels: Labels, nowMs: number): void {
    const before = this.#things.get(key)
    const sum = this.#sumOf(labels)
    if (before?.sum === sum) return
    this.#add(before, nowMs)
    this.#things.set(key, { labels, sum, sinceMs: nowMs })
  }

  leave(key: string, nowMs: number): void {
    this.#add(this.#things.get(key), nowMs)
    this.#things.delete(key)
  }

  get keys(): Iterable<string> {
    return this.#things.keys()
  }

  /** Sums until now. */
  totals(nowMs: number): readonly LabelledSeconds[] {
    for (const [key, kept] of this.#things) {
      this.#add(kept, nowMs)
      this.#things.set(key, { ...kept, sinceMs: nowMs })
    }
    return [...this.#sums.values()].map(({ labels, ms }) => ({ labels, seconds: ms / 1_000 }))
  }

  #add(kept: Kept | undefined, nowMs: number): void {
    const sum = kept === undefined ? undefined : this.#sums.get(kept.sum)
    if (kept !== undefined && sum !== undefined) sum.ms += Math.max(0, nowMs - kept.sinceMs)
  }

  #sumOf(labels: Labels): string {
    const key = JSON.stringify(labels)
    if (this.#sums.has(key)) return key
    if (this.#sums.size < this.#most) {
      this.#sums.set(key, { labels, ms: 0 })
      return key
    }
    const other = Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]))
    if (!this.#sums.has(OTHER)) this.#sums.set(OTHER, { labels: other, ms: 0 })
    return OTHER
  }
}
