// Keeps the latest results of slow readings, and repeats them in the background: no decision waits for another system.
import type { Clock } from '#lib/clock.ts'
import { canonicalJson } from '#lib/json.ts'

/** How often one reading is repeated, counted from its beginning: it is due at each pass that comes as often. */
const AGAIN_MS = 10_000
/** An older one says nothing about now. */
const STALE_MS = 60_000

export interface WantedRead<T> {
  readonly key: string
  take(signal: AbortSignal): Promise<T>
}

export interface Taken<T> {
  readonly value: T
  /** When it was begun: it says nothing about what changed since. */
  readonly at: number
}

export interface ReadsTools<T> {
  readonly clock: Pick<Clock, 'now'>
  /** Something new was read for this owner. */
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
  /** By uid of the owner, then by key of the reading. */
  readonly #entries = new Map<string, Map<string, Entry<T>>>()

  constructor(tools: ReadsTools<T>) {
    this.#tools = tools
  }

  /** When a reading is due again, if there are any. */
  static readonly againMs = AGAIN_MS

  /** The known results of the given readings. Starts those without a fresh result, and forgets those no longer in the list. */
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

  /** Readings under way without a result that still counts, such as the first ones after a restart. One that takes too long is none of them. */
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
