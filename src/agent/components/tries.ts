// What the worker of one component tries, and how long it waits after a failure. Starts, actions and switches wait on their own: a version that cannot be
// started does not delay the next one.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import { type StepProblem, stepProblem } from './cause.ts'
import { GrowingDelay } from './growing-delay.ts'
import type { ComponentAction } from './actions.ts'
import type { ComponentRecord } from './record.ts'
import type { OrderReading } from './seen.ts'
import { StartTries } from './start-tries.ts'

/** Delay after an action failed for a temporary reason; longest one when it keeps failing. */
export const ACT_RETRY_MS = 2_000
const ACT_RETRY_MOST_MS = 60_000
/** The same for a switch in which the host failed. Each try may restart what runs. */
const SWITCH_RETRY_MS = 10_000
const SWITCH_RETRY_MOST_MS = 300_000

/** These may end in a switch that is postponed. */
const SWITCHES: ReadonlySet<ComponentAction['kind']> = new Set(['Switch', 'ContinueSwitch', 'RollBack'])
/** Another version is tried at once, whatever failed before it. */
const actionName = (action: ComponentAction): string =>
  action.kind === 'Stage' || action.kind === 'Switch' ? `${action.kind}: ${action.reason}` : action.kind

export class Tries {
  readonly starts: StartTries
  readonly #clock: Clock
  /** By the action and why it is taken. */
  readonly #actions: GrowingDelay
  /** By the slot that is switched to. */
  readonly #switches: GrowingDelay
  /** What a failure in this turn is a failure of. */
  #trying = 'Observe'
  /** The ordered switch that the host blocks, and since when. */
  #blocked: { readonly what: string; readonly since: number } | undefined
  #problem: StepProblem | undefined

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.starts = new StartTries(clock, log)
    this.#actions = new GrowingDelay(clock, ACT_RETRY_MS, ACT_RETRY_MOST_MS)
    this.#switches = new GrowingDelay(clock, SWITCH_RETRY_MS, SWITCH_RETRY_MOST_MS)
  }

  /** Why the last step failed. */
  get problem(): StepProblem | undefined {
    return this.#problem
  }

  /** Milliseconds until what is being tried may be tried again. */
  get leftMs(): number {
    return this.#actions.leftMs(this.#trying)
  }

  switchBackoffMs({ staged }: Partial<ComponentRecord> = {}): number {
    return this.#switches.leftMs(staged?.id)
  }

  /** Milliseconds for which the host has blocked this switch; 0 where it is not ordered, or nothing of the host is in its way. */
  hostBlocksMs(
    { staged, target }: Partial<ComponentRecord> = {},
    order: OrderReading,
    hungHook: number | undefined,
  ): number {
    const isOrdered = typeof order === 'object' && target !== undefined && order.switch?.attempt === target.attempt
    const what = staged && isOrdered ? `${staged.id} ${target.attempt}` : undefined
    if (what === undefined || (hungHook === undefined && !this.#switches.isOf(staged?.id))) this.#blocked = undefined
    else if (this.#blocked?.what !== what) this.#blocked = { what, since: this.#clock.monotonic() }
    return this.#blocked === undefined ? 0 : this.#clock.monotonic() - this.#blocked.since
  }

  observing(): void {
    this.#trying = 'Observe'
  }

  acting(action: ComponentAction): void {
    this.#trying = actionName(action)
  }

  /** Returns true when the problem is another one than before. */
  noteFailure(error: unknown): boolean {
    const before = this.#problem
    this.#problem = stepProblem(error, before?.since ?? this.#clock.now())
    this.#actions.noteFailure(this.#trying)
    return before?.message !== this.#problem.message
  }

  /** `record`: as the action left it. */
  noteDone({ kind }: ComponentAction, { state, reason, staged }: Partial<ComponentRecord> = {}): void {
    this.noteNothingToDo()
    const isPostponed = SWITCHES.has(kind) && state === 'Staged' && reason === 'HostUnsuitable'
    if (isPostponed && staged !== undefined) this.#switches.noteFailure(staged.id)
    if (kind === 'Commit' || kind === 'GiveUp') this.#switches.clear()
  }

  noteNothingToDo(): void {
    this.#problem = undefined
    this.#actions.clear()
  }
}
