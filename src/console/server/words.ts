// The texts of a topic, each sent once and named by a small number from then on. Pages append what is new.

/** Old versions stay. Past this many it is begun again, and every page reads the snapshot again. */
const MOST_WORDS = 50_000

export class Words {
  readonly #words: string[] = ['']
  readonly #places = new Map<string, number>([['', 0]])
  #sent = 1

  get all(): readonly string[] {
    return this.#words
  }

  get isFull(): boolean {
    return this.#words.length > MOST_WORDS
  }

  at(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    const place = this.#words.push(text) - 1
    this.#places.set(text, place)
    return place
  }

  /** Those that no page has. */
  takeNew(): readonly string[] {
    const words = this.#words.slice(this.#sent)
    this.#sent = this.#words.length
    return words
  }
}
