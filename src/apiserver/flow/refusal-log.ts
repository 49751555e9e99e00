// Logs which clients send bodies that are refused for their size: once per client and minute, with the number of unlogged ones.
import type { Logger } from '#lib/log.ts'

const EVERY_MS = 60_000
/** Cached clients; beyond it the one that was logged longest ago is dropped. */
const REMEMBERED = 1_024

export class RefusalLog {
  readonly #log: Logger
  readonly #now: () => number
  readonly #refusals = new Map<string, { readonly at: number; more: number }>()

  /** `now` is monotonic. */
  constructor(log: Logger, now: () => number) {
    this.#log = log
    this.#now = now
  }

  note(user: string, reason: string): void {
    const before = this.#refusals.get(user)
    const at = this.#now()
    if (before !== undefined && at - before.at < EVERY_MS) {
      before.more++
      return
    }
    this.#refusals.delete(user)
    const [oldest] = this.#refusals.size >= REMEMBERED ? this.#refusals.keys() : []
    if (oldest !== undefined) this.#refusals.delete(oldest)
    this.#refusals.set(user, { at, more: 0 })
    this.#log.warn('request body refused', { user, reason, refusedSinceLastLine: before?.more ?? 0 })
  }
}
