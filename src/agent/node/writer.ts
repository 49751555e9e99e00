// Keeps one object on the server equal to the agent's latest result: writes a change immediately, one write at a time, and merges changes in between.
// While the server is unreachable it retries with backoff, then writes the newest result. Mere progress may wait until it has lasted.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'

export interface WriterDeps<T> {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly name: string
  /** Undefined: no result yet. */
  readonly compute: () => T | undefined
  readonly isSame: (before: T | undefined, now: T) => boolean
  readonly write: (value: T) => Promise<void>
  /** Milliseconds for which a change may wait: more than 0 when only the progress changed, which is written after it has lasted. */
  readonly passingMs?: (before: T, now: T) => number
  /** Writes again after this time even without a change. */
  readonly heartbeatMs?: number
}

const LATER = 0.1
const RETRY_FIRST_MS = 500
const RETRY_MOST_MS = 60_000

export class StatusWriter<T> {
  readonly #deps: WriterDeps<T>
  #written: T | undefined
  #writtenAt = 0
  #failures = 0
  #isBusy = false
  #running = Promise.resolve()
  #isDirty = false
  /** Start of the time in which only progress differs from what the server has. */
  #passingSince: number | undefined
  /** The last report of an agent that ends: nothing is held back for a later one. */
  #isFlushing = false
  #isClosed = false
  #timer: { cancel(): void } | undefined

  constructor(deps: WriterDeps<T>) {
    this.#deps = deps
  }

  touch(): void {
    this.#isDirty = true
    if (!this.#isBusy && !this.#isClosed) this.#running = this.#run()
  }

  /** Writes even without a change, for example after another client may have written. */
  again(): void {
    this.#written = undefined
    this.touch()
  }

  /** Writes again what the server lost: a restored store has an older snapshot. */
  compare(isThere: (written: T) => boolean): void {
    if (this.#written !== undefined && !isThere(this.#written)) this.again()
  }

  /** Writes a pending change once, and stops waiting after this time. */
  async flush(withinMs: number): Promise<void> {
    this.#isFlushing = true
    this.touch()
    const timeout = new AbortController()
    await Promise.race([this.#running, this.#deps.clock.sleep(withinMs, timeout.signal).catch(() => undefined)])
    timeout.abort()
    this.#isFlushing = false
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    this.#timer?.cancel()
    const { heartbeatMs, random } = this.#deps
    // Jittered: otherwise ten thousand agents that lost one server would stay synchronized forever.
    let waitMs = heartbeatMs === undefined ? undefined : heartbeatMs * (1 + random.next() * LATER)
    // Two calls in one turn of the event loop cause one write.
    await Promise.resolve()
    while (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false
      const againMs = await this.#writeOnce()
      if (againMs === undefined) continue
      waitMs = againMs
      break
    }
    this.#isBusy = false
    if (this.#isClosed || waitMs === undefined) return
    this.#timer = this.#deps.clock.after(waitMs, () => this.touch())
  }

  /** Returns how long to wait after a failure, or until progress has lasted. */
  async #writeOnce(): Promise<number | undefined> {
    const { clock, random, log, compute, isSame, write, heartbeatMs, name } = this.#deps
    const value = compute()
    const isDue = heartbeatMs !== undefined && clock.monotonic() - this.#writtenAt >= heartbeatMs
    if (value === undefined || (!isDue && isSame(this.#written, value))) {
      this.#passingSince = undefined
      return undefined
    }
    const passingMs = isDue ? 0 : this.#passingMs(value)
    if (passingMs > 0) return passingMs
    this.#passingSince = undefined
    try {
      await write(value)
      this.#written = value
      this.#writtenAt = clock.monotonic()
      this.#failures = 0
      return undefined
    } catch (error) {
      if (this.#isClosed) return undefined
      const waitMs = Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures++, 20))
      log.warn('cannot write the status', { what: name, error, retryInMs: waitMs })
      return random.jitter(waitMs, 0.5)
    }
  }

  #passingMs(value: T): number {
    const { clock, passingMs } = this.#deps
    const mostMs = this.#isFlushing || this.#written === undefined ? 0 : (passingMs?.(this.#written, value) ?? 0)
    if (mostMs === 0) return 0
    this.#passingSince ??= clock.monotonic()
    return Math.max(0, this.#passingSince + mostMs - clock.monotonic())
  }
}
