// Lets all jobs request their permits before any of them starts. Of a thousand simultaneous repairs, each has requested its permit before the steps
// of the first few use up the server's time. No job waits for one that cannot request, and the wait is short.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { Clock } from '#lib/clock.ts'
import { phaseOf } from '../seen.ts'

/** A job that has not requested by then is blocked by something else. */
const REQUEST_WITHIN_MS = 2_000
/** The longest delay of a repair, however many others follow. */
export const MOST_PUT_OFF_MS = 5_000

export class RequestGate {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #wake: (name: string) => void
  /** Jobs that have not requested yet, with the time they were first observed, oldest first. */
  readonly #open = new Map<string, number>()
  readonly #putOff = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>, wake: (name: string) => void) {
    this.#clock = clock
    this.#wake = wake
  }

  /** Receives every change of a job. */
  note(before: RemedyOperationJob | undefined, now: RemedyOperationJob | undefined): void {
    const job = now ?? before
    if (job === undefined) return
    const name = nameOf(job)
    if (now === undefined) this.#putOff.delete(name)
    if (now !== undefined && phaseOf(now) === 'Pending') {
      if (!this.#open.has(name)) this.#open.set(name, this.#clock.monotonic())
      return
    }
    if (this.#open.delete(name) && this.#open.size === 0) for (const waiting of this.#putOff.keys()) this.#wake(waiting)
  }

  /** The longest delay of a job that could start while others request their permits. Undefined: it may start. It is woken when they are done. */
  putOffMs(name: string): number | undefined {
    const now = this.#clock.monotonic()
    for (const [open, since] of this.#open) {
      if (now - since < REQUEST_WITHIN_MS) break
      this.#open.delete(open)
    }
    const since = this.#putOff.get(name) ?? now
    const leftMs = Math.min(REQUEST_WITHIN_MS, since + MOST_PUT_OFF_MS - now)
    if (this.#open.size === 0 || leftMs <= 0) {
      this.#putOff.delete(name)
      return undefined
    }
    this.#putOff.set(name, since)
    return leftMs
  }
}
