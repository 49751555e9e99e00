// A priority queue with logarithmic cost: ten thousand clients that reconnect at once are ten thousand entries.

export class Heap<T> {
  readonly #entries: { readonly key: number; readonly order: number; readonly value: T }[] = []
  #count = 0

  get size(): number {
    return this.#entries.length
  }

  /** Undefined when empty. */
  get leastKey(): number | undefined {
    return this.#entries[0]?.key
  }

  /** Equal keys leave in the order in which they came. */
  add(key: number, value: T): void {
    const entries = this.#entries
    entries.push({ key, order: this.#count++, value })
    for (let i = entries.length - 1; i > 0;) {
      const above = (i - 1) >> 1
      if (!this.#isLess(i, above)) return
      this.#swap(i, above)
      i = above
    }
  }

  take(): T | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (first === undefined || last === undefined) return undefined
    if (entries.length === 0) return first.value
    entries[0] = last
    for (let i = 0; ;) {
      const [left, right] = [2 * i + 1, 2 * i + 2]
      const least = right < entries.length && this.#isLess(right, left) ? right : left
      if (least >= entries.length || !this.#isLess(least, i)) return first.value
      this.#swap(i, least)
      i = least
    }
  }

  #isLess(a: number, b: number): boolean {
    const [x, y] = [this.#entries[a], this.#entries[b]]
    if (x === undefined || y === undefined) return false
    return x.key === y.key ? x.order < y.order : x.key < y.key
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#entries[a], this.#entries[b]]
    if (x === undefined || y === undefined) return
    this.#entries[a] = y
    this.#entries[b] = x
  }
}
