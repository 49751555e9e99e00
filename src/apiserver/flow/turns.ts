// Runs one piece of work after the other on the one event loop, measuring each. After a slice the loop turns once, so that input that
// arrived meanwhile is read and can come first.

/** How long to work before new input is read: half of what a user notices, and long enough that a turn of the loop costs little. */
const SLICE_MS = 8

export interface TurnOptions {
  /** Milliseconds, never going back. */
  readonly now: () => number
  /** Starts the work of the next client; false when there is none. */
  readonly next: () => boolean
  /** Runs a function once input that arrived meanwhile was read. */
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
   * Work starts with this call and ends when it cannot continue without the disk or the network: microtasks run to their end
   * before the next tick. Its continuation after a webhook or the disk is not counted; most of a request is done by then.
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
