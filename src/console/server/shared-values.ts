// Values that many things have in common, each kept once and named by a small number. A value that nothing uses any more is forgotten.
export class SharedValues<T extends object> {
  readonly #numbers = new Map<string, number>()
  readonly #values: (T | undefined)[] = []
  readonly #uses: number[] = []
  readonly #free: number[] = []

  /** The number of an equal value, used once more. Equal means: written the same way, with keys in the same order. */
  take(value: T): number {
    const text = JSON.stringify(value)
    const number = this.#numbers.get(text) ?? this.#add(text, value)
    this.#uses[number] = (this.#uses[number] ?? 0) + 1
    return number
  }

  /** Once for each `take`. */
  release(number: number): void {
    const uses = (this.#uses[number] ?? 0) - 1
    this.#uses[number] = uses
    if (uses > 0) return
    this.#numbers.delete(JSON.stringify(this.#values[number]))
    this.#values[number] = undefined
    this.#free.push(number)
  }

  at(number: number): T {
    const value = this.#values[number]
    if (value === undefined) throw new Error(`no shared value has the number ${number}`)
    return value
  }

  #add(text: string, value: T): number {
    const number = this.#free.pop() ?? this.#values.length
    this.#values[number] = value
    this.#numbers.set(text, number)
    return number
  }
}
