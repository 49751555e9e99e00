// Parts of the history of one resource as bytes, cached for a while: many watchers fall behind together, at the same place, and if
// each encoded them for itself, that would be most of the garbage of a storm.

export interface Stretch {
  /** One chunk of the answer. */
  readonly chunk: Buffer
  /** The last revision in it. */
  readonly to: number
}

/** For one resource: enough for watchers that are at most twice their unsent bytes apart. */
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

  /** Keyed by start and form; the history does not change, so a cached entry stays valid. */
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
