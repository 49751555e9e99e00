// The work queue: decides which key is reconciled next. A key is never handed out twice at once and never forgotten while dirty. Adding it ten times before it
// is taken equals adding it once.
import type { Clock, Timer } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import { type Backoff, DEFAULT_BACKOFF, backoffDelay } from './backoff.ts'
import { DeadlineHeap } from './deadlines.ts'
import { WaitingKeys } from './waiting-keys.ts'

/** Ten times the largest supported cluster; beyond it something invents keys. */
const DEFAULT_CAPACITY = 100_000

export interface QueueOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly random: Random
  readonly backoff?: Backoff
  /** Distinct keys that wait, are delayed or are being reconciled. Further keys are refused as `Full`, and the caller must add them again later. */
  readonly capacity?: number
}

export interface AddOptions {
  /** Goes before other keys, but does not starve them. */
  readonly urgent?: boolean
}

export type Added = 'Added' | 'Merged' | 'Full' | 'ShutDown'

export class WorkQueue<K = string> {
  readonly #clock: QueueOptions['clock']
  readonly #random: Random
  readonly #backoff: Backoff
  readonly #capacity: number

  readonly #waiting = new WaitingKeys<K>()
  readonly #processing = new Set<K>()
  /** Added while being reconciled: goes back to its lane when done. The value is its urgency. */
  readonly #dirty = new Map<K, boolean>()
  /** When a delayed key is due. The heap may hold older entries of the same key; this map has the valid one. */
  readonly #dueAt = new Map<K, number>()
  readonly #heap = new DeadlineHeap<K>()
  readonly #failures = new Map<K, number>()
  readonly #takers = new Set<(key: K | undefined) => void>()
  #idleWaiters: (() => void)[] = []
  #timer: { readonly at: number; readonly timer: Timer } | undefined
  #shutDown = false

  constructor({ clock, random, backoff = DEFAULT_BACKOFF, capacity = DEFAULT_CAPACITY }: QueueOptions) {
    this.#clock = clock
    this.#random = random
    this.#backoff = backoff
    this.#capacity = capacity
  }

  /** Keys ready to be taken. */
  get length(): number {
    return this.#waiting.size
  }

  get delayed(): number {
    return this.#dueAt.size
  }

  get processing(): number {
    return this.#processing.size
  }

  get isShutDown(): boolean {
    return this.#shutDown
  }

  add(key: K, { urgent = false }: AddOptions = {}): Added {
    if (this.#shutDown) return 'ShutDown'
    if (this.#processing.has(key)) {
      const merged = this.#dirty.has(key)
      this.#dirty.set(key, urgent || this.#dirty.get(key) === true)
      return merged ? 'Merged' : 'Added'
    }
    const merged = this.#waiting.has(key)
    if (!merged && this.#isFullFor(key)) return 'Full'
    this.#waiting.push(key, urgent)
    this.#handOut()
    return merged ? 'Merged' : 'Added'
  }

  /** An already delayed key keeps the earlier of the two times. */
  addAfter(key: K, ms: number): Added {
    if (ms <= 0) return this.add(key)
    if (this.#shutDown) return 'ShutDown'
    const dueAt = this.#clock.monotonic() + ms
    const earlier = this.#dueAt.get(key)
    if (earlier !== undefined && earlier <= dueAt) return 'Merged'
    if (earlier === undefined && this.#isFullFor(key)) return 'Full'
    this.#dueAt.set(key, dueAt)
    this.#heap.push(key, dueAt)
    this.#arm()
    return earlier === undefined ? 'Added' : 'Merged'
  }

  /**
   * Counts one more failure of the key and returns its delay. A try that an event started before the retry was due does not count. The rate of events is
   * unrelated to how long the key has been failing; otherwise seconds of errors in a busy cluster would cause minutes of waiting.
   */
  fail(key: K): number {
    const failures = this.#failures.get(key) ?? 0
    const leftMs = (this.#dueAt.get(key) ?? Number.NEGATIVE_INFINITY) - this.#clock.monotonic()
    // A retry that is due counts, also before its timer ran: a delay of nothing would keep every timer from running.
    if (failures > 0 && leftMs > 0) return leftMs
    this.#countFailure(key, failures + 1)
    return backoffDelay(this.#backoff, failures, this.#random)
  }

  /** Adds the key after the backoff of its failures so far, and counts one more. Returns the delay. */
  addRateLimited(key: K): number {
    const ms = this.fail(key)
    this.addAfter(key, ms)
    return ms
  }

  failures(key: K): number {
    return this.#failures.get(key) ?? 0
  }

  /** The key succeeded: its next failure starts from the base delay. */
  forget(key: K): void {
    this.#failures.delete(key)
  }

  /** The next key, or undefined if none is ready. The caller must call `done` for each key taken. */
  tryTake(): K | undefined {
    const key = this.#waiting.shift()
    if (key !== undefined) this.#processing.add(key)
    return key
  }

  /** Waits for a key; undefined once the queue is shut down and empty, or the signal aborts. */
  take(signal?: AbortSignal): Promise<K | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined)
    const ready = this.tryTake()
    if (ready !== undefined || this.#shutDown) return Promise.resolve(ready)
    return new Promise((resolve) => {
      const taker = (key: K | undefined) => {
        this.#takers.delete(taker)
        signal?.removeEventListener('abort', onAbort)
        resolve(key)
      }
      const onAbort = () => taker(undefined)
      this.#takers.add(taker)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  done(key: K): void {
    if (!this.#processing.delete(key)) return
    const urgent = this.#dirty.get(key)
    this.#dirty.delete(key)
    if (urgent !== undefined) this.#waiting.push(key, urgent)
    this.#handOut()
    this.#settle()
  }

  /** Refuses further keys and drops delayed ones. Waiting ones are still handed out, unless `discard`. */
  shutDown({ discard = false }: { readonly discard?: boolean } = {}): void {
    this.#shutDown = true
    this.#timer?.timer.cancel()
    this.#timer = undefined
    this.#dueAt.clear()
    this.#heap.clear()
    if (discard) {
      this.#waiting.clear()
      this.#dirty.clear()
    }
    this.#handOut()
    this.#settle()
  }

  /** Resolves when nothing waits and nothing is being reconciled; for use after `shutDown`. */
  drained(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  #handOut(): void {
    for (const taker of this.#takers) {
      const key = this.tryTake()
      if (key === undefined && !(this.#shutDown && this.#isIdle())) return
      taker(key)
    }
  }

  #settle(): void {
    if (!this.#isIdle()) return
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resolve of waiters) resolve()
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#processing.size === 0
  }

  #isFullFor(key: K): boolean {
    const known = this.#waiting.has(key) || this.#processing.has(key) || this.#dueAt.has(key)
    // A key may be both ready and delayed; counting it twice only refuses sooner.
    return !known && this.#waiting.size + this.#processing.size + this.#dueAt.size >= this.#capacity
  }

  #countFailure(key: K, failures: number): void {
    if (!this.#failures.has(key) && this.#failures.size >= this.#capacity) {
      const oldest = this.#failures.keys().next()
      if (!oldest.done) this.#failures.delete(oldest.value)
    }
    this.#failures.set(key, failures)
  }

  /** One timer for the earliest due time, however many keys are delayed. */
  #arm(): void {
    const next = this.#heap.peek()
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next.dueAt)) return
    this.#timer?.timer.cancel()
    const timer = this.#clock.after(next.dueAt - this.#clock.monotonic(), () => this.#onDue())
    this.#timer = { at: next.dueAt, timer }
  }

  #onDue(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    for (let top = this.#heap.peek(); top !== undefined && top.dueAt <= now; top = this.#heap.peek()) {
      this.#heap.pop()
      if (this.#dueAt.get(top.key) !== top.dueAt) continue
      // `add` first: the key still counts as known while it moves, so it cannot be refused.
      this.add(top.key)
      this.#dueAt.delete(top.key)
    }
    this.#arm()
  }
}
