// Values shared by many objects, each stored once under a small number. Unused values are dropped.
export class SharedValues<T extends object> {
  readonly #numbers = new Map<string, number>()
  readonly #values: (T | undefined)[] = []
  readonly #uses: number[] = []
  readonly #free: number[] = []

  /** Returns the number of an equal value and counts one more use. Equal means the same JSON, with keys in the same order. */
  take(value: T): number {
    const text = JSON.stringify(value)
    const number = this.#numbers.get(text) ?? this.#add(text, value)
    this.#uses[number] = (this.#uses[number] ?? 0) + 1
    return number
  }

  /** Call once for each `take`. */
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
