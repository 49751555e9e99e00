// One thing that runs for each name in a list: started when the name appears, ended when it is gone.

export interface Running {
  readonly end: (why: Error) => void
  /** Resolves once it has ended. */
  readonly done: Promise<void>
}

export class RunningByName {
  readonly #start: (name: string) => Running
  readonly #running = new Map<string, Running>()

  constructor(start: (name: string) => Running) {
    this.#start = start
  }

  /** Of more than `most` names the first ones are started; what was started stays as long as it is listed. */
  watch(names: readonly string[], most = Infinity): void {
    const wanted = new Set(names)
    for (const [name, { end }] of this.#running) {
      if (wanted.has(name)) continue
      this.#running.delete(name)
      end(new Error('no longer listed'))
    }
    for (const name of [...wanted].slice(0, most))
      if (!this.#running.has(name)) this.#running.set(name, this.#start(name))
  }

  async close(): Promise<void> {
    const all = [...this.#running.values()]
    this.#running.clear()
    for (const { end } of all) end(new Error('the agent stops'))
    await Promise.all(all.map(({ done }) => done))
  }
}
