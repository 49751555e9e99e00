// Prepares versions in parallel with the component's loop, so that a crashed process never waits for a download. One version at a time, retried with
// backoff, recorded when complete.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { type Attempt, isSameAttempt } from '#api/protocol/component-order.ts'
import { type StepProblem, causeOf, stepProblem } from './cause.ts'
import type { Journal } from './journal.ts'
import type { OrderReading } from './seen.ts'
import { generationAfter, isSlotOf } from './record.ts'
import type { StageRequest, Staged } from './stage.ts'

export interface StagingDeps {
  readonly component: string
  readonly journal: Journal
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly stage: (request: StageRequest, signal: AbortSignal) => Promise<Staged>
  /** The version in use was modified on the node. */
  readonly isDrifted: () => boolean
  /** Called when staging finished, or was postponed after a failure. */
  readonly onEnd: () => void
}

const FIRST_MS = 1_000
const MOST_MS = 300_000

export class Staging {
  readonly #deps: StagingDeps
  #open: { readonly target: Attempt; readonly stop: AbortController } | undefined
  #failures = 0
  #againAt = 0
  /** The version that last failed to stage. */
  #failed: Attempt | undefined
  #unrecorded: StepProblem | undefined

  constructor(deps: StagingDeps) {
    this.#deps = deps
  }

  get target(): Attempt | undefined {
    return this.#open?.target
  }

  /** Why the result of the last try could not be written down. */
  get unrecorded(): StepProblem | undefined {
    return this.#unrecorded
  }

  /** Time until the retry; a different target is tried immediately. */
  backoffMs(order: OrderReading): number {
    if (typeof order === 'string' || this.#failed === undefined || !isSameAttempt(order, this.#failed)) return 0
    return Math.max(0, this.#againAt - this.#deps.clock.monotonic())
  }

  stop(why: string): void {
    this.#open?.stop.abort(new Error(why))
  }

  async begin(target: Attempt): Promise<void> {
    if (!(await this.#isToBeFetched(target))) return
    this.stop('another version is desired')
    const open = { target, stop: new AbortController() }
    this.#open = open
    void this.#fetch(target, open.stop.signal)
      // The journal could not be written; retried after the backoff.
      .then(() => {
        this.#unrecorded = undefined
      })
      .catch((error: unknown) => {
        this.#deps.log.error('cannot record the staging result', { error })
        this.#unrecorded = stepProblem(error, this.#unrecorded?.since ?? this.#deps.clock.now())
      })
      .finally(() => {
        if (this.#open === open) this.#open = undefined
        this.#deps.onEnd()
      })
  }

  /** Records the requested version. Returns whether it must be fetched. */
  async #isToBeFetched(target: Attempt): Promise<boolean> {
    const { journal, isDrifted } = this.#deps
    const { record } = journal
    if (record === undefined) {
      await journal.write({ state: 'Fetching', target })
      return true
    }
    if (isSameAttempt(record.target, target)) return true
    this.#failures = 0
    // Only the attempt number changed, and the version works: nothing to fetch or switch.
    if (record.state === 'Healthy' && isSlotOf(record.current, target) && !isDrifted()) {
      await journal.write({ target })
      return false
    }
    const facts = { desiredChanged: true, notTriedInAttempt: true }
    if (record.state === 'Fetching') await journal.write({ target, staged: undefined })
    else await journal.step('retarget', facts, { target, staged: undefined })
    return true
  }

  async #fetch(target: Attempt, signal: AbortSignal): Promise<void> {
    const { stage, component, journal } = this.#deps
    try {
      const { slot } = await stage({ name: component, ...target, ...this.#freshCopy(target) }, signal)
      const { record } = journal
      if (signal.aborted || record === undefined || !isSameAttempt(record.target, target)) return
      this.#failures = 0
      if (record.state === 'Fetching') await journal.step('stage', { verified: true }, { staged: slot })
      else await journal.write({ staged: slot })
    } catch (e) {
      if (!signal.aborted) await this.#refused(target, e)
    }
  }

  /** A modified slot is replaced by a fresh copy: reusing it would treat it as complete. */
  #freshCopy(target: Attempt): { readonly generation?: number } {
    const current = this.#deps.journal.record?.current
    return this.#deps.isDrifted() && isSlotOf(current, target) ? { generation: generationAfter(current) } : {}
  }

  /** Nothing was disrupted, and the fix may come from elsewhere: a newly trusted key, a mirror, free disk space. So staging is retried. */
  async #refused(target: Attempt, error: unknown): Promise<void> {
    const { clock, random, log, journal } = this.#deps
    log.warn('cannot stage the component', { error })
    const waitMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(this.#failures, 20))
    this.#failures++
    this.#failed = target
    this.#againAt = clock.monotonic() + random.jitter(waitMs, 0.3)
    if (journal.record?.state !== 'Fetching') return
    const { message, because: reason } = causeOf(error, 'FetchFailed', 'HostUnsuitable')
    await journal.write({ message, reason })
  }
}
