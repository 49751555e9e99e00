// Since when a provider reports the machine of a repair as off, without another answer in between, by our clock. One answer is never enough: a provider that is mistaken
// once, or whose answers flip, would have a machine that runs taken out of service, and its workloads would be started twice.
import type { Clock } from '#lib/clock.ts'

const CONFIRMED_AFTER_MS = 10_000
/** One for each repair that is fencing. The oldest is dropped beyond it: that repair only waits again. */
const MOST_REPAIRS = 1_000

export class OffSightings {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #since = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** It was reported as off; answers the milliseconds until that counts, 0 when it does now. */
  untilSureMs(repair: string): number {
    const now = this.#clock.monotonic()
    const since = this.#since.get(repair)
    if (since !== undefined) return Math.max(0, since + CONFIRMED_AFTER_MS - now)
    const [oldest] = this.#since.keys()
    if (oldest !== undefined && this.#since.size >= MOST_REPAIRS) this.#since.delete(oldest)
    this.#since.set(repair, now)
    return CONFIRMED_AFTER_MS
  }

  /** It was reported as something else, or the repair no longer needs it. */
  forget(repair: string): void {
    this.#since.delete(repair)
  }
}
