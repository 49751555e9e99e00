// Turns authentic requests into reads of a source. A repeated request counts once, and a source is read at most every few seconds, however many requests arrive.
import type { Clock, Timer } from '#lib/clock.ts'

/** A commit every second causes one read in this time. None is lost, because a read fetches the newest commit. */
const LEAST_BETWEEN_MS = 5_000
/** Longer than git servers retry a request that they consider lost. */
const REMEMBERED_MS = 600_000
const MOST_REMEMBERED = 64

interface OfSource {
  /** By digest of the request, oldest first. */
  readonly requests: Map<string, number>
  lastRead?: number
  pending?: Timer
}

export type Accepted = 'Read' | 'Later' | 'Duplicate'

export class HookReads {
  readonly #clock: Clock
  readonly #read: (source: string) => void
  readonly #sources = new Map<string, OfSource>()

  constructor(clock: Clock, read: (source: string) => void) {
    this.#clock = clock
    this.#read = read
  }

  /** `request`: the digest of an authentic request. */
  accept(source: string, request: string): Accepted {
    const now = this.#clock.monotonic()
    const own = this.#sources.get(source) ?? { requests: new Map<string, number>() }
    this.#sources.set(source, own)
    for (const [old, at] of own.requests) if (now - at > REMEMBERED_MS) own.requests.delete(old)
    if (own.requests.has(request)) return 'Duplicate'
    own.requests.set(request, now)
    for (const old of [...own.requests.keys()].slice(0, -MOST_REMEMBERED)) own.requests.delete(old)
    if (own.pending !== undefined) return 'Later'
    const wait = own.lastRead === undefined ? 0 : own.lastRead + LEAST_BETWEEN_MS - now
    if (wait <= 0) {
      own.lastRead = now
      this.#read(source)
      return 'Read'
    }
    own.pending = this.#clock.after(wait, () => {
      delete own.pending
      own.lastRead = this.#clock.monotonic()
      this.#read(source)
    })
    return 'Later'
  }

  /** Forgets sources that no longer exist. */
  keep(isThere: (source: string) => boolean): void {
    for (const [source, { pending }] of this.#sources)
      if (!isThere(source)) {
        pending?.cancel()
        this.#sources.delete(source)
      }
  }

  stop(): void {
    this.keep(() => false)
  }
}
