// One Release at a time changes a track's objects in a cluster: an old one that still applies must finish before a newer one begins.

export class ClusterLocks {
  readonly #tails = new Map<string, Promise<unknown>>()

  async hold<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const settled = mine.catch(() => undefined)
    this.#tails.set(key, settled)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === settled) this.#tails.delete(key)
    }
  }
}
