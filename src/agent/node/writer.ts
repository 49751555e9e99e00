// Keeps one object on the server equal to what we last computed: writes on change at once, one write at a time, changes in between melt into one.
// While the server is away it tries again with backoff, and what is written then is the newest.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'

export interface WriterDeps<T> {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly name: string
  /** Undefined: nothing can be said yet. */
  readonly compute: () => T | undefined
  readonly isSame: (before: T | undefined, now: T) => boolean
  readonly write: (value: T) => Promise<void>
  /** Writes again after so long although nothing changed. */
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
  #isDirty = false
  #isClosed = false
  #timer: { cancel(): void } | undefined

  constructor(deps: WriterDeps<T>) {
    this.#deps = deps
  }

  touch(): void {
    this.#isDirty = true
    if (!this.#isBusy && !this.#isClosed) void this.#run()
  }

  /** Writes even what has not changed, as after somebody else may have. */
  again(): void {
    this.#written = undefined
    this.touch()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    this.#timer?.cancel()
    const { heartbeatMs, random } = this.#deps
    // Later by some of it, or ten thousand agents that one server lost would beat together for ever.
    let waitMs = heartbeatMs === undefined ? undefined : heartbeatMs * (1 + random.next() * LATER)
    // Whoever touches twice in one turn of the loop causes one write.
    await Promise.resolve()
    while (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false
      const failedFor = await this.#writeOnce()
      if (failedFor === undefined) continue
      waitMs = failedFor
      break
    }
    this.#isBusy = false
    if (this.#isClosed || waitMs === undefined) return
    this.#timer = this.#deps.clock.after(waitMs, () => this.touch())
  }

  /** How long to wait when it failed. */
  async #writeOnce(): Promise<number | undefined> {
    const { clock, random, log, compute, isSame, write, heartbeatMs, name } = this.#deps
    const value = compute()
    const isDue = heartbeatMs !== undefined && clock.monotonic() - this.#writtenAt >= heartbeatMs
    if (value === undefined || (!isDue && isSame(this.#written, value))) return undefined
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
}
