// Runs one task for each name in a list: starts it when the name appears, and ends it when the name disappears.

export interface Running {
  readonly end: (why: Error) => void
  /** Resolves once it has ended. */
  readonly done: Promise<void>
}

export class RunningByName {
  readonly #start: (name: string) => Running
  readonly #most: number
  readonly #running = new Map<string, Running>()

  /**
   * If there are more than `most` names, only the first ones are started. A running name that drops out of the first ones keeps running while it is
   * listed.
   */
  constructor(start: (name: string) => Running, most = Infinity) {
    this.#start = start
    this.#most = most
  }

  watch(names: readonly string[]): void {
    const wanted = new Set(names)
    for (const [name, { end }] of this.#running) {
      if (wanted.has(name)) continue
      this.#running.delete(name)
      end(new Error('no longer listed'))
    }
    for (const name of [...wanted].slice(0, this.#most))
      if (!this.#running.has(name)) this.#running.set(name, this.#start(name))
  }

  async close(): Promise<void> {
    const all = [...this.#running.values()]
    this.#running.clear()
    for (const { end } of all) end(new Error('the agent stops'))
    await Promise.all(all.map(({ done }) => done))
  }
}
