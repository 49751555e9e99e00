// One piece of work after the other on the one event loop, each measured. After a slice the loop turns once, so that whoever sent
// something meanwhile is read and can come first.

/** What may be worked off before others are read: half of what a person notices, and long enough that turning the loop does not show. */
const SLICE_MS = 8

export interface TurnOptions {
  /** Milliseconds, never going back. */
  readonly now: () => number
  /** Begins the work of whoever is next; false when nobody is. */
  readonly next: () => boolean
  /** Runs a function once what has arrived meanwhile was read. */
  readonly afterReading?: (fn: () => void) => void
}

export class Turns {
  readonly #options: Required<TurnOptions>
  #isBusy = false
  #spent = 0
  #isTurning = false

  constructor(options: TurnOptions) {
    this.#options = { afterReading: (fn) => void setImmediate(fn), ...options }
  }

  get isFree(): boolean {
    return !this.#isBusy && this.#spent < SLICE_MS
  }

  /**
   * Work begins with this call and ends when nothing of it can go on without the disk or the network: microtasks run to their end
   * before the next tick. What a webhook or the disk lets go on later is not counted; most of a request is done by then.
   */
  begin(done: (ms: number) => void): void {
    const { now, afterReading } = this.#options
    this.#isBusy = true
    const began = now()
    queueMicrotask(() =>
      process.nextTick(() => {
        const ms = now() - began
        this.#isBusy = false
        this.#spent += ms
        done(ms)
        this.go()
      }),
    )
    if (this.#isTurning) return
    this.#isTurning = true
    afterReading(() => {
      this.#isTurning = false
      this.#spent = 0
      this.go()
    })
  }

  go(): void {
    while (this.isFree && this.#options.next()) continue
  }
}
