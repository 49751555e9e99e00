// A topic's texts, each sent once and then referred to by a small number. Pages append new ones.

/** Old versions accumulate. Past this limit the list restarts, and every page rereads the snapshot. */
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

  /** Words that no page has yet. */
  takeNew(): readonly string[] {
    const words = this.#words.slice(this.#sent)
    this.#sent = this.#words.length
    return words
  }
}
