// How long a provider has continuously reported a repair's machine as off, by our clock. One answer is never enough. A provider that errs once, or
// whose answers flap, would take a running machine out of service, and its workloads would be started twice.
import type { Clock } from '#lib/clock.ts'

const CONFIRMED_AFTER_MS = 10_000
/** One per fencing repair. Beyond that the oldest is dropped: that repair only waits again. */
const MOST_REPAIRS = 1_000

export class OffSightings {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #since = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** It was reported as off. Returns the milliseconds until that counts, 0 if it does now. */
  untilSureMs(repair: string): number {
    const now = this.#clock.monotonic()
    const since = this.#since.get(repair)
    if (since !== undefined) return Math.max(0, since + CONFIRMED_AFTER_MS - now)
    const [oldest] = this.#since.keys()
    if (oldest !== undefined && this.#since.size >= MOST_REPAIRS) this.#since.delete(oldest)
    this.#since.set(repair, now)
    return CONFIRMED_AFTER_MS
  }

  /** It was reported otherwise, or the repair no longer needs it. */
  forget(repair: string): void {
    this.#since.delete(repair)
  }
}
