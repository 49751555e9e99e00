// The bytes of the newest responses, shared by all who request the same at the same time: hundreds of users reload a view when the console restarts.
import type { Clock } from '#lib/clock.ts'
import type { Body } from './request.ts'

/** A response contains a time, from which the page shows its age. */
const KEPT_MS = 1_000
/** A large cluster's machines are half a megabyte. */
const MOST_KEPT = 32

interface Kept {
  /** The fleet's revision. */
  readonly revision: string
  readonly until: number
  readonly body: Promise<Body>
}

export class SharedBodies {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `key`: equal for equal responses of one revision. */
  of(key: string, revision: string, make: () => Promise<Body>): Promise<Body> {
    const now = this.#clock.monotonic()
    const known = this.#kept.get(key)
    if (known?.revision === revision && now < known.until) return known.body
    const body = make()
    this.#kept.delete(key)
    this.#kept.set(key, { revision, until: now + KEPT_MS, body })
    for (const [old, { until }] of this.#kept) {
      if (until > now && this.#kept.size <= MOST_KEPT) break
      this.#kept.delete(old)
    }
    return body
  }
}
