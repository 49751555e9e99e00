// A text that is read again in the background when it is old. The last value is available immediately, and a change is reported.
import type { Clock } from '#lib/clock.ts'

/** A changed route or an upgraded control plane is noticed with the next use after this time. */
const FRESH_MS = 60_000

export class KeptReading {
  readonly #read: (last: string | undefined) => Promise<string | undefined>
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onChange: () => void
  #last: string | undefined
  #readAt = Number.NEGATIVE_INFINITY

  /** `read` never rejects. */
  constructor(
    clock: Pick<Clock, 'monotonic'>,
    read: (last: string | undefined) => Promise<string | undefined>,
    onChange: () => void,
  ) {
    this.#clock = clock
    this.#read = read
    this.#onChange = onChange
  }

  /** Undefined until the first read. */
  get value(): string | undefined {
    const now = this.#clock.monotonic()
    if (now - this.#readAt >= FRESH_MS) {
      this.#readAt = now
      void this.#read(this.#last).then((found) => {
        if (found === this.#last) return
        this.#last = found
        this.#onChange()
      })
    }
    return this.#last
  }
}
