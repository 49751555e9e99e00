// Keeps the latest results of slow reads and refreshes them in the background, so that no decision waits for another system.
import type { Clock } from '#lib/clock.ts'
import { canonicalJson } from '#lib/json.ts'

/** How often a read repeats, counted from its start: a pass at the same interval finds it due every time. */
const AGAIN_MS = 10_000
/** An older result is not current anymore. */
const STALE_MS = 60_000

export interface WantedRead<T> {
  readonly key: string
  take(signal: AbortSignal): Promise<T>
}

export interface Taken<T> {
  readonly value: T
  /** When the read started: it does not cover later changes. */
  readonly at: number
}

export interface ReadsTools<T> {
  readonly clock: Pick<Clock, 'now'>
  /** Called with the owner of each new result. */
  readonly wake: (owner: string) => void
  readonly failed: (error: unknown) => T
}

interface Entry<T> {
  taken?: Taken<T>
  begunAt: number
  endedAt: number
  isReading: boolean
}

export class BackgroundReads<T> {
  readonly #tools: ReadsTools<T>
  readonly #stopped = new AbortController()
  /** Owner uid → read key → result. */
  readonly #entries = new Map<string, Map<string, Entry<T>>>()

  constructor(tools: ReadsTools<T>) {
    this.#tools = tools
  }

  /** When the next read is due, if there are any. */
  static readonly againMs = AGAIN_MS

  /** The known results of the given reads. Starts those without a fresh result and drops those no longer in the list. */
  read(
    owner: { readonly name: string; readonly uid: string },
    wanted: readonly WantedRead<T>[],
  ): ReadonlyMap<string, Taken<T>> {
    if (wanted.length === 0) {
      this.#entries.delete(owner.uid)
      return new Map()
    }
    const before = this.#entries.get(owner.uid)
    const entries = new Map(wanted.map((w) => [w.key, before?.get(w.key) ?? newEntry<T>()]))
    this.#entries.set(owner.uid, entries)
    const now = this.#tools.clock.now()
    const known = new Map<string, Taken<T>>()
    for (const w of wanted) {
      const entry = entries.get(w.key) ?? newEntry<T>()
      if (entry.taken !== undefined && now - entry.endedAt < STALE_MS) known.set(w.key, entry.taken)
      if (!entry.isReading && !(now - entry.begunAt < AGAIN_MS)) void this.#take(owner.name, w, entry)
    }
    return known
  }

  /** Running reads without a current result, such as the first after a restart. A read that takes too long does not count. */
  pending(uid: string): ReadonlySet<string> {
    const now = this.#tools.clock.now()
    const entries = [...(this.#entries.get(uid) ?? [])]
    return new Set(
      entries.flatMap(([key, { taken, begunAt, endedAt, isReading }]) => {
        const isKnown = taken !== undefined && now - endedAt < STALE_MS
        return isReading && !isKnown && now - begunAt < STALE_MS ? [key] : []
      }),
    )
  }

  forget(uid: string): void {
    this.#entries.delete(uid)
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #take(owner: string, wanted: WantedRead<T>, entry: Entry<T>): Promise<void> {
    const { clock, failed, wake } = this.#tools
    const { signal } = this.#stopped
    const at = clock.now()
    entry.isReading = true
    entry.begunAt = at
    const value = await wanted.take(signal).catch(failed)
    entry.isReading = false
    entry.endedAt = clock.now()
    const isNews = entry.taken === undefined || canonicalJson(entry.taken.value) !== canonicalJson(value)
    entry.taken = { value, at }
    if (isNews && !signal.aborted) wake(owner)
  }
}

const newEntry = <T>(): Entry<T> => ({
  begunAt: Number.NEGATIVE_INFINITY,
  endedAt: Number.NEGATIVE_INFINITY,
  isReading: false,
})
