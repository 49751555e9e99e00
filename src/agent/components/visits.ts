// Work that other parts do between two steps of a component. Work that has not started when the component closes resolves without running.
interface Visit {
  readonly run: () => Promise<void>
  readonly drop: () => void
}

export class Visits {
  #waiting: Visit[] = []

  /** Resolves when the work is done or dropped. */
  add(work: () => Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ run: () => work().then(resolve, reject), drop: resolve })
    return promise
  }

  async run(): Promise<void> {
    for (const visit of this.#waiting.splice(0)) await visit.run()
  }

  drop(): void {
    for (const visit of this.#waiting.splice(0)) visit.drop()
  }
}
