// Stretches of the history of one resource as bytes, kept for a while: many watchers fall behind together, at the same place, and what
// each of them had made for itself would be most of what a storm leaves to collect.

export interface Stretch {
  /** One chunk of the answer. */
  readonly chunk: Buffer
  /** The last revision that it tells of. */
  readonly to: number
}

/** Of one resource: as many as watchers who are at most twice their unsent bytes apart go through. */
const KEPT_BYTES = 2 * 1024 * 1024

export class Stretches {
  readonly #kept = new Map<string, Stretch>()
  #bytes = 0

  static of(resource: object): Stretches {
    let stretches = byResource.get(resource)
    if (stretches === undefined) {
      stretches = new Stretches()
      byResource.set(resource, stretches)
    }
    return stretches
  }

  /** By the place where it begins and the form it is in; the history does not change, so one that is kept stays true. */
  get(key: string): Stretch | undefined {
    return this.#kept.get(key)
  }

  keep(key: string, stretch: Stretch): void {
    this.#kept.set(key, stretch)
    this.#bytes += stretch.chunk.length
    for (const [oldest, { chunk }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES) return
      this.#kept.delete(oldest)
      this.#bytes -= chunk.length
    }
  }
}

const byResource = new WeakMap<object, Stretches>()
