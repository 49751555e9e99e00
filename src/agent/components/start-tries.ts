// Failed starts of one component: retried with growing delays. They block nothing else, because the next version may fix the problem.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { GrowingDelay } from './growing-delay.ts'
import type { StartFailure } from './plan.ts'
import { isPowerLoss } from './switch.ts'

/** Delay after the first failed start. */
const FIRST_MS = 2_000
/** Longest delay between two failed starts. */
const MOST_MS = 60_000

/** The delay grows with every failed start, whatever its problem. */
const START = 'start'

export class StartTries {
  readonly #log: Logger
  readonly #delay: GrowingDelay
  #problem: string | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, log: Logger) {
    this.#log = log
    this.#delay = new GrowingDelay(clock, FIRST_MS, MOST_MS)
  }

  get failure(): StartFailure | undefined {
    return this.#problem === undefined ? undefined : { problem: this.#problem, backoffMs: this.#delay.leftMs(START) }
  }

  /** The component runs, no matter which program started it. */
  noteUp(): void {
    this.#problem = undefined
    this.#delay.clear()
  }

  async try(start: () => Promise<void>): Promise<void> {
    try {
      await start()
      this.noteUp()
    } catch (e) {
      if (isPowerLoss(e)) throw e
      this.#problem = messageOf(e)
      this.#delay.noteFailure(START)
      this.#log.warn('cannot start the component', { error: e, retryInMs: this.#delay.leftMs(START) })
    }
  }
}
