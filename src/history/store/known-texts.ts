// Texts in memory, by number or the other way round: up to a count, and up to a size of all of them. A recorded cluster decides how long its texts are.
import { MIB } from '#lib/bytes.ts'

/** A hundred times what the texts of a large cluster have. */
const MOST_CHARS = 16 * MIB

export class KnownTexts<K extends string | number, V extends string | number> {
  readonly #all = new Map<K, V>()
  readonly #most: number
  #chars = 0

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    return this.#all.get(key)
  }

  set(key: K, value: V): void {
    const chars = lengthOf(key) + lengthOf(value)
    if (this.#all.size >= this.#most || this.#chars + chars > MOST_CHARS) this.clear()
    this.#chars += chars
    this.#all.set(key, value)
  }

  clear(): void {
    this.#all.clear()
    this.#chars = 0
  }
}

const lengthOf = (part: string | number): number => (typeof part === 'string' ? part.length : 0)
