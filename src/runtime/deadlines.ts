// A binary heap of keys by due time. Has no clock. Ties pop in insertion order, so equal runs are equal.

export interface Deadline<K> {
  readonly key: K
  readonly dueAt: number
  readonly order: number
}

export class DeadlineHeap<K> {
  readonly #items: Deadline<K>[] = []
  #inserted = 0

  get size(): number {
    return this.#items.length
  }

  peek(): Deadline<K> | undefined {
    return this.#items[0]
  }

  push(key: K, dueAt: number): Deadline<K> {
    const item = { key, dueAt, order: this.#inserted++ }
    const items = this.#items
    let i = items.push(item) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      const above = items[parent]
      if (above === undefined || !isBefore(item, above)) break
      items[i] = above
      i = parent
    }
    items[i] = item
    return item
  }

  pop(): Deadline<K> | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (top === undefined || last === undefined || items.length === 0) return top
    let i = 0
    for (;;) {
      const left = items[2 * i + 1]
      const right = items[2 * i + 2]
      if (left === undefined) break
      const child = right !== undefined && isBefore(right, left) ? 2 * i + 2 : 2 * i + 1
      const smaller = child === 2 * i + 1 || right === undefined ? left : right
      if (!isBefore(smaller, last)) break
      items[i] = smaller
      i = child
    }
    items[i] = last
    return top
  }

  clear(): void {
    this.#items.length = 0
  }
}

const isBefore = <K>(a: Deadline<K>, b: Deadline<K>): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order)
