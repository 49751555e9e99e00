// The controller loop: takes keys from its queue, reconciles each under a deadline, and turns the outcome into that key's next turn. A bad key costs only its
// own backoff: it can throw, hang or ignore its signal without delaying another key.
import { isConflict, isNotFound } from '#kube/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import { followSignal } from '#lib/follow-signal.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { Backoff } from './backoff.ts'
import { type ControllerMetrics, noControllerMetrics } from './controller-metrics.ts'
import { type Outcome, nextTry, retry } from './outcome.ts'
import { type AddOptions, WorkQueue } from './queue.ts'
import { raceWith } from './race.ts'
import { Refill } from './refill.ts'
import { runtimeErrors } from './runtime-errors.ts'

export interface ReconcileContext {
  /** Identifies this reconcile in its log lines and requests. */
  readonly reconcileId: string
  /** Aborts at the deadline and when the controller stops. */
  readonly signal: AbortSignal
  /** Failures of this key since its last success. */
  readonly failures: number
  readonly log: Logger
}

export type Reconcile = (key: string, context: ReconcileContext) => Promise<Outcome>

export interface ControllerOptions {
  readonly name: string
  readonly reconcile: Reconcile
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics?: ControllerMetrics
  /** Keys reconciled in parallel. */
  readonly workers?: number
  readonly timeoutMs?: number
  readonly backoff?: Backoff
  readonly capacity?: number
  /** Lists all existing keys after the queue refused some. */
  readonly allKeys?: () => Iterable<string>
}

export interface ControllerState {
  readonly isRunning: boolean
  readonly ready: number
  readonly delayed: number
  readonly inWork: number
  /** Keys whose reconcile ignored its signal and is still running. */
  readonly hung: readonly string[]
  /** Monotonic time at which a key was last taken or finished, or the queue was last empty. */
  readonly lastProgressAt: number
}

/** Four requests in flight hide the round trip; more would only fill the server's queue. */
const DEFAULT_WORKERS = 4
const DEFAULT_TIMEOUT_MS = 30_000
/** Shorter than a pod's default grace period (30 s), which leaves time to release the lease. */
const DEFAULT_DRAIN_MS = 10_000
/** Time for a reconcile to clean up after its signal before its worker abandons it. */
const ABORT_GRACE_MS = 2_000
/** Limit of abandoned reconciles. At this many the workers stop: something systematic hangs, and each one holds memory. */
export const MOST_HUNG = 64

export class Controller {
  readonly name: string
  readonly #options: ControllerOptions
  readonly #queue: WorkQueue
  readonly #metrics: ControllerMetrics
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #hung = new Map<string, Promise<void>>()
  #workers: Promise<void>[] = []
  #reconciles = 0
  #lastProgressAt = 0
  readonly #refill: Refill | undefined
  /** Distinguishes the ids of this process from those of the previous one. */
  readonly #instance: string

  constructor(options: ControllerOptions) {
    const { name, clock, random, backoff, capacity } = options
    this.name = name
    this.#options = options
    this.#queue = new WorkQueue({
      clock,
      random,
      ...defined({ backoff, capacity }),
    })
    this.#refill = options.allKeys && new Refill(clock, options.allKeys, (key) => this.#queue.add(key))
    this.#metrics = options.metrics ?? noControllerMetrics
    this.#log = options.log.with({ controller: name })
    this.#lastProgressAt = clock.monotonic()
    this.#instance = random.below(2 ** 32).toString(36)
  }

  enqueue(key: string, options?: AddOptions): void {
    if (this.#queue.add(key, options) === 'Full') this.#refused()
    this.#metrics.depth(this.#queue.length)
  }

  enqueueAfter(key: string, ms: number): void {
    if (this.#queue.addAfter(key, ms) === 'Full') this.#refused()
  }

  start(): void {
    if (this.#workers.length > 0) return
    const count = this.#options.workers ?? DEFAULT_WORKERS
    this.#workers = Array.from({ length: count }, () => this.#work())
  }

  /**
   * Starts nothing new and waits up to `drainMs` for running reconciles, then aborts the rest and abandons those that do not end. Returns whether all ended.
   */
  async stop(drainMs = DEFAULT_DRAIN_MS): Promise<boolean> {
    const { clock } = this.#options
    this.#queue.shutDown({ discard: true })
    const ended = Promise.all(this.#workers)
    const drained = await raceWith(clock, drainMs, ended)
    this.#stop.abort(new KubeNodeError(runtimeErrors.KN3001_shutdown({ name: this.name }), { retry: 'later' }))
    if (!drained.settled) await raceWith(clock, 2 * ABORT_GRACE_MS, ended)
    return this.#queue.processing === 0
  }

  /** After this, even a reconcile that ignores its signal has given its worker back. */
  get longestTurnMs(): number {
    return this.#timeoutMs + ABORT_GRACE_MS
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS
  }

  state(): ControllerState {
    const isWaiting = this.#queue.length === 0 && this.#queue.processing === this.#hung.size
    return {
      isRunning: this.#workers.length > 0 && !this.#stop.signal.aborted,
      ready: this.#queue.length,
      delayed: this.#queue.delayed,
      inWork: this.#queue.processing,
      hung: [...this.#hung.keys()],
      lastProgressAt: isWaiting ? this.#options.clock.monotonic() : this.#lastProgressAt,
    }
  }

  async #work(): Promise<void> {
    for (;;) {
      if (this.#hung.size >= MOST_HUNG) await Promise.race(this.#hung.values())
      const key = await this.#queue.take(this.#stop.signal)
      if (key === undefined) return
      await this.#turn(key)
    }
  }

  async #turn(key: string): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    this.#lastProgressAt = startedAt
    const abort = new AbortController()
    const unfollow = followSignal(abort, this.#stop.signal)
    const running = this.#guarded(key, abort.signal).finally(unfollow)
    const timeoutMs = this.#timeoutMs

    const first = await raceWith(clock, timeoutMs, running, this.#stop.signal)
    if (first.settled) return this.#finish(key, first.value, startedAt)
    abort.abort(this.#timeoutError(key, timeoutMs))
    const second = await raceWith(clock, ABORT_GRACE_MS, running)
    if (second.settled) return this.#finish(key, this.#afterAbort(key, timeoutMs, second.value), startedAt)

    this.#log.error('abandoned a reconcile that ignores its abort signal', { key, timeoutMs })
    const left = running.then((outcome) => {
      this.#hung.delete(key)
      this.#metrics.hung(this.#hung.size)
      this.#finish(key, this.#afterAbort(key, timeoutMs, outcome), startedAt)
    })
    this.#hung.set(key, left)
    this.#metrics.hung(this.#hung.size)
  }

  /** Catches everything that a reconcile throws, now or later. */
  async #guarded(key: string, signal: AbortSignal): Promise<Outcome> {
    const reconcileId = `${this.name}-${this.#instance}-${++this.#reconciles}`
    const log = this.#log.with({ key, reconcileId })
    try {
      return await this.#options.reconcile(key, { reconcileId, signal, failures: this.#queue.failures(key), log })
    } catch (error) {
      return retry(error)
    }
  }

  /** A reconcile that ends because of its deadline is a timeout, even if it reports another error. A success within the grace time counts. */
  #afterAbort(key: string, timeoutMs: number, outcome: Outcome): Outcome {
    if (outcome.kind !== 'Retry' || this.#stop.signal.aborted) return outcome
    return retry(this.#timeoutError(key, timeoutMs, outcome.error))
  }

  #timeoutError(key: string, timeoutMs: number, cause?: unknown): KubeNodeError {
    return new KubeNodeError(runtimeErrors.KN3001({ controller: this.name, key, timeoutMs }), {
      retry: 'later',
      data: { key, timeoutMs },
      cause,
    })
  }

  #finish(key: string, outcome: Outcome, startedAt: number): void {
    const { clock } = this.#options
    this.#lastProgressAt = clock.monotonic()
    this.#metrics.reconciled(outcome.kind, (this.#lastProgressAt - startedAt) / 1_000)
    if (!this.#stop.signal.aborted) this.#schedule(key, outcome)
    this.#queue.done(key)
    this.#metrics.depth(this.#queue.length)
  }

  #schedule(key: string, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'Done':
        return this.#queue.forget(key)
      case 'Requeue':
        this.#queue.forget(key)
        // Rounded up: the rest of a wait may be too small a fraction for the clock to move.
        this.#queue.addAfter(key, Math.max(0, Math.ceil(outcome.afterMs)))
        return
      case 'Retry':
        return this.#retry(key, outcome.error)
      default:
        return assertNever(outcome)
    }
  }

  #retry(key: string, error: unknown): void {
    const next = nextTry(error)
    const backoffMs = this.#queue.fail(key)
    const afterMs = next.kind === 'Backoff' ? backoffMs : next.afterMs
    this.#queue.addAfter(key, afterMs)
    const failures = this.#queue.failures(key)
    const fields = { key, failures, afterMs: Math.round(afterMs), reason: next.kind, error }
    // The next reconcile fixes this within milliseconds, so it is not worth a warning.
    this.#log[failures === 1 && isLostRace(error) ? 'debug' : 'warn']('reconcile failed', fields)
  }

  #refused(): void {
    this.#metrics.refused()
    this.#refill?.refused()
  }
}

/** Another program changed or deleted the object between the read and the write. */
const isLostRace = (error: unknown): boolean => isConflict(error) || isNotFound(error)
