// One AbortSignal for two causes: the caller aborted, or the time is over.
import type { Clock } from '#lib/clock.ts'
import { followSignal } from '#lib/follow-signal.ts'

export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: { cancel(): void } | undefined
  readonly #unfollow: () => void

  /** `late` creates the reason at timeout; without `ms` only the caller can abort. */
  constructor(clock: Clock, ms: number | undefined, caller: AbortSignal | undefined, late: () => Error) {
    this.#unfollow = followSignal(this.#controller, caller)
    this.#timer = ms === undefined ? undefined : clock.after(ms, () => this.#controller.abort(late()))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#timer?.cancel()
    this.#unfollow()
  }
}
