// One thing at a time for each machine: requests about one wait for each other, those about others do not.

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs after all earlier calls for the machine, however they ended. */
  run<T>(machine: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(machine) ?? Promise.resolve()).then(work, work)
    this.#last.set(machine, mine)
    const forget = (): void => {
      if (this.#last.get(machine) === mine) this.#last.delete(machine)
    }
    mine.then(forget, forget)
    return mine
  }

  /** Resolves or rejects with the latest call. */
  async of(machine: string): Promise<void> {
    await this.#last.get(machine)
  }
}
