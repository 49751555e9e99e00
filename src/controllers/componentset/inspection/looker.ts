// Keeps the latest results of the inspections of open steps, and repeats them in the background: no decision waits for the network.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Inspector, Look, WantedLook } from './inspections.ts'

/** How often one inspection is repeated. */
const AGAIN_MS = 10_000
/** An older look says nothing about now. */
const STALE_MS = 60_000

interface Entry {
  look?: Look
  lookedAt: number
  isLooking: boolean
}

export class Looker {
  readonly #inspector: Inspector
  readonly #clock: Pick<Clock, 'now'>
  readonly #wake: (set: string) => void
  readonly #stopped = new AbortController()
  /** By uid of the set, then by key of the inspection. */
  readonly #entries = new Map<string, Map<string, Entry>>()

  constructor(inspector: Inspector, clock: Pick<Clock, 'now'>, wake: (set: string) => void) {
    this.#inspector = inspector
    this.#clock = clock
    this.#wake = wake
  }

  get can(): Inspector['can'] {
    return this.#inspector.can
  }

  /** The known results of the given inspections. Starts those without a fresh result, and forgets those no longer in the list. */
  read(set: { readonly name: string; readonly uid: string }, wanted: readonly WantedLook[]): ReadonlyMap<string, Look> {
    if (wanted.length === 0) {
      this.#entries.delete(set.uid)
      return new Map()
    }
    const before = this.#entries.get(set.uid)
    const entries = new Map(wanted.map((w) => [w.key, before?.get(w.key) ?? newEntry()]))
    this.#entries.set(set.uid, entries)
    const now = this.#clock.now()
    const known = new Map<string, Look>()
    for (const w of wanted) {
      const entry = entries.get(w.key) ?? newEntry()
      if (entry.look !== undefined && now - entry.lookedAt < STALE_MS) known.set(w.key, entry.look)
      if (!entry.isLooking && !(now - entry.lookedAt < AGAIN_MS)) void this.#look(set.name, w, entry)
    }
    return known
  }

  /** When an inspection is due again, if there are any. */
  static readonly againMs = AGAIN_MS

  forget(uid: string): void {
    this.#entries.delete(uid)
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #look(set: string, { inspection }: WantedLook, entry: Entry): Promise<void> {
    entry.isLooking = true
    const found = await this.#inspector
      .look(inspection, this.#stopped.signal)
      .catch((e: unknown): Look => ({ holds: false, seen: messageOf(e) }))
    entry.isLooking = false
    entry.lookedAt = this.#clock.now()
    const isNews = entry.look?.holds !== found.holds || entry.look.seen !== found.seen
    entry.look = found
    if (isNews && !this.#stopped.signal.aborted) this.#wake(set)
  }
}

const newEntry = (): Entry => ({ lookedAt: Number.NEGATIVE_INFINITY, isLooking: false })
