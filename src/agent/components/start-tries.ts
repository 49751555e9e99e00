// Failed starts of one component: retried with growing delays. They block nothing else, because the next version may fix the problem.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { StartFailure } from './plan.ts'
import { isPowerLoss } from './switch.ts'

/** Delay after the first failed start. */
const FIRST_MS = 2_000
/** Longest delay between two failed starts. */
const MOST_MS = 60_000

export class StartTries {
  readonly #clock: Clock
  readonly #log: Logger
  #failed: { readonly problem: string; readonly times: number; readonly until: number } | undefined

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  get failure(): StartFailure | undefined {
    if (this.#failed === undefined) return undefined
    const { problem, until } = this.#failed
    return { problem, backoffMs: Math.max(0, until - this.#clock.monotonic()) }
  }

  /** The component runs, no matter which program started it. */
  noteUp(): void {
    this.#failed = undefined
  }

  async try(start: () => Promise<void>): Promise<void> {
    try {
      await start()
      this.#failed = undefined
    } catch (e) {
      if (isPowerLoss(e)) throw e
      const times = this.#failed?.times ?? 0
      const backoffMs = Math.min(MOST_MS, FIRST_MS * 2 ** times)
      this.#failed = { problem: messageOf(e), times: times + 1, until: this.#clock.monotonic() + backoffMs }
      this.#log.warn('cannot start the component', { error: e, retryInMs: backoffMs })
    }
  }
}
