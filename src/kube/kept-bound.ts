// Bounds what the caches of one server keep in memory together: its administrators may be others than those of this program.
import { KubeNodeError } from '#lib/errors.ts'
import { kubeErrors } from './kube-errors.ts'

export class KeptTooMuch extends KubeNodeError {
  constructor(most: number) {
    super(kubeErrors.KN2005_kept({ maxLength: most }), { retry: 'later' })
  }
}

export class KeptBound {
  /** In characters of JSON, of all caches. */
  readonly #most: number
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  /** The part of one cache. */
  share(): KeptShare {
    return new KeptShare((more) => {
      if (more > 0 && this.#used + more > this.#most) throw new KeptTooMuch(this.#most)
      this.#used += more
    })
  }
}

export class KeptShare {
  readonly #take: (more: number) => void
  readonly #sizes = new Map<string, number>()

  constructor(take: (more: number) => void) {
    this.#take = take
  }

  /** Throws KeptTooMuch if the object does not fit in place of the one before. */
  put(key: string, object: unknown): void {
    const size = JSON.stringify(object).length
    this.#take(size - (this.#sizes.get(key) ?? 0))
    this.#sizes.set(key, size)
  }

  delete(key: string): void {
    this.#take(-(this.#sizes.get(key) ?? 0))
    this.#sizes.delete(key)
  }
}
