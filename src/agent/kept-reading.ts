// A text that is read again in the background when it is old: the last one is there at once, and a change is reported.
import type { Clock } from '#lib/clock.ts'

/** A changed route, and an upgraded control plane, are noticed with the next use after this. */
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

  /** Undefined until the first one was read. */
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
