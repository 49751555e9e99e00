// Which rendered commits stay in memory: the most recently used few of each source, within a total size.

/** Size of a render that failed, or has no objects. */
const LEAST_BYTES = 64 * 1024
/** A source's render and the previous one are compared with each other. */
const LEAST_KEPT = 2
/** Limit for one source: the newest, the one before, and a few that still roll out, in each of its tracks. */
const MOST_EACH = 16

interface Entry<T> {
  readonly source: string
  readonly made: Promise<T>
  bytes: number
}

export class KeptRenders<T> {
  readonly #maxBytes: number
  readonly #sizeOf: (rendered: T) => number
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<T>>()
  #bytes = 0

  constructor(maxBytes: number, sizeOf: (rendered: T) => number) {
    this.#maxBytes = maxBytes
    this.#sizeOf = sizeOf
  }

  /** Aside: it goes before all others, and drives none of them out. */
  get(source: string, commit: string, isAside = false): Promise<T> | undefined {
    const key = renderKey(source, commit)
    const entry = this.#entries.get(key)
    if (entry === undefined || isAside) return entry?.made
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.made
  }

  has(source: string, commit: string): boolean {
    return this.#entries.has(renderKey(source, commit))
  }

  add(source: string, commit: string, made: Promise<T>, isAside = false): void {
    const key = renderKey(source, commit)
    const entry = { source, made, bytes: LEAST_BYTES }
    const others = [...this.#entries]
    if (isAside) this.#entries.clear()
    this.#entries.set(key, entry)
    if (isAside) for (const [other, each] of others) this.#entries.set(other, each)
    this.#bytes += entry.bytes
    const own = [...this.#entries].filter(([, each]) => each.source === source)
    for (const [oldKey, old] of own.slice(0, -MOST_EACH)) this.#remove(oldKey, old)
    this.#dropOldest()
    made.then(
      (rendered) => this.#measured(key, entry, this.#sizeOf(rendered)),
      () => undefined,
    )
  }

  /** Does nothing if another entry replaced it. */
  drop(source: string, commit: string, made: Promise<T>): void {
    const key = renderKey(source, commit)
    const entry = this.#entries.get(key)
    if (entry?.made === made) this.#remove(key, entry)
  }

  #measured(key: string, entry: Entry<T>, bytes: number): void {
    if (this.#entries.get(key) !== entry) return
    this.#bytes += Math.max(bytes, entry.bytes) - entry.bytes
    entry.bytes = Math.max(bytes, entry.bytes)
    this.#dropOldest()
  }

  #dropOldest(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes || this.#entries.size <= LEAST_KEPT) return
      this.#remove(key, entry)
    }
  }

  #remove(key: string, { bytes }: Entry<T>): void {
    this.#entries.delete(key)
    this.#bytes -= bytes
  }
}

const renderKey = (source: string, commit: string): string => `${source}\n${commit}`
