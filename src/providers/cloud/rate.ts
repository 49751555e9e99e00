// Rate-limits each action of a cloud: a token bucket per action, below the vendor's limit, because consoles and other programs share that limit. A throttled
// call halves the rate, which then recovers slowly. One object per account and region. The vendor counts a call when it arrives, somewhere between its sending
// and its answer. A call in flight therefore keeps its place in the burst, even if its answer is no longer awaited, and a starting program leaves room for
// calls of its predecessor. In any time span at most the permitted number of calls arrives, however long each call takes. Abandoned calls, and calls of a
// killed program, arrive within ARRIVES_WITHIN_MS or not at all.
import type { Clock } from '#lib/clock.ts'

export interface Limit {
  readonly perSecond: number
  /** Calls at once after a quiet period. */
  readonly burst: number
}

export interface RateOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'now' | 'sleep'>
  readonly limitOf: (action: string) => Limit
  /** This program's share of the vendor's limit. */
  readonly share?: number
  /** A vendor that counts per minute refuses until the next minute. */
  readonly period: 'Minute' | 'Second'
}

export type Turn =
  /** The caller must call exactly one: `answered` once the call has its answer or cannot get one, `left` if it stops waiting. */
  | { readonly kind: 'Go'; readonly answered: () => void; readonly left: () => void }
  | { readonly kind: 'Wait'; readonly ms: number }

/** Share of the limit; the rest is for people and other programs. */
const OUR_SHARE = 0.85
/** The longest wait in the queue: beyond it, the caller gets a time to come back. */
const LONGEST_LINE_MS = 10_000
/** Callers come back slightly closer together than their turns, so that one that does not come leaves no gap. */
const CLOSER = 0.9
/** The longest time a caller is sent away: the vendor may accept more calls by then. */
const LONGEST_AWAY_MS = 120_000
/** Share of the full rate regained per second after a throttled call: from half to full in a minute. */
const RECOVERY_PER_SECOND = 1 / 120
/** Minimum share of the full rate, so that a busy account does not stop this program altogether. */
const LEAST_SHARE = 1 / 16
const MINUTE_MS = 60_000
/** A call that was sent arrives within this time, or never. */
const ARRIVES_WITHIN_MS = 5_000

interface Bucket {
  readonly full: Limit
  rate: number
  tokens: number
  /** Sent but not answered. */
  inFlight: number
  /** Abandoned calls that may still arrive, with their deadline; soonest first. A starting program may have tens of thousands with the same deadline. */
  readonly late: { readonly until: number; count: number }[]
  /** The total of them. */
  lateCalls: number
  at: number
  pausedUntil: number
  /** When the last caller that was sent away comes back. */
  lastBack: number
  /** First come, first served. */
  readonly line: ((turn: Turn) => void)[]
  isServed: boolean
}

export class Rate {
  readonly #options: RateOptions
  readonly #buckets = new Map<string, Bucket>()
  readonly #begunAt: number

  constructor(options: RateOptions) {
    this.#options = options
    this.#begunAt = options.clock.monotonic()
  }

  /** Resolves when it is this call's turn. A call that would have to wait too long does not enter the queue. */
  async take(action: string, signal?: AbortSignal): Promise<Turn> {
    signal?.throwIfAborted()
    const bucket = this.#bucket(action)
    const now = this.#options.clock.monotonic()
    if (bucket.line.length === 0 && waitOf(bucket, now) === 0) return this.#go(bucket)
    const ms = waitOf(bucket, now, bucket.line.length)
    if (ms > LONGEST_LINE_MS) return { kind: 'Wait', ms: comeBackIn(bucket, now, ms) }
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        const at = bucket.line.indexOf(served)
        if (at >= 0) bucket.line.splice(at, 1)
        reject(signal?.reason)
      }
      const served = (turn: Turn) => {
        signal?.removeEventListener('abort', giveUp)
        resolve(turn)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      bucket.line.push(served)
      void this.#serve(bucket)
    })
  }

  async #serve(bucket: Bucket): Promise<void> {
    if (bucket.isServed) return
    bucket.isServed = true
    const { clock } = this.#options
    while (bucket.line.length > 0) {
      refill(bucket, clock.monotonic())
      const ms = waitOf(bucket, clock.monotonic())
      // A pause started meanwhile: they come back after it.
      if (ms > LONGEST_LINE_MS)
        for (const served of bucket.line.splice(0))
          served({ kind: 'Wait', ms: comeBackIn(bucket, clock.monotonic(), ms) })
      else if (ms > 0) await clock.sleep(ms)
      else bucket.line.shift()?.(this.#go(bucket))
    }
    bucket.isServed = false
  }

  #go(bucket: Bucket): Turn {
    bucket.tokens--
    bucket.inFlight++
    const sentAt = this.#options.clock.monotonic()
    let isOver = false
    const over = (isLeft: boolean) => {
      if (isOver) return
      isOver = true
      const now = this.#options.clock.monotonic()
      // The place was taken until now, so no tokens accumulated for it.
      refill(bucket, now)
      bucket.inFlight--
      if (isLeft) keepPlaces(bucket, 1, { until: sentAt + ARRIVES_WITHIN_MS, now })
    }
    return { kind: 'Go', answered: () => over(false), left: () => over(true) }
  }

  /** The vendor refused a call; returns how long to send nothing. */
  throttled(action: string, retryAfterMs: number | undefined): number {
    const { clock, period } = this.#options
    const bucket = this.#bucket(action)
    const now = clock.monotonic()
    const pause = retryAfterMs ?? (period === 'Minute' ? MINUTE_MS - (clock.now() % MINUTE_MS) : 1_000)
    // Calls in flight together were refused for the same reason.
    if (now >= bucket.pausedUntil) {
      bucket.rate = Math.max(bucket.rate / 2, bucket.full.perSecond * LEAST_SHARE)
      bucket.tokens = 0
    }
    bucket.pausedUntil = Math.max(bucket.pausedUntil, now + pause)
    return pause
  }

  #bucket(action: string): Bucket {
    const { clock, limitOf, share = OUR_SHARE } = this.#options
    const now = clock.monotonic()
    const known = this.#buckets.get(action)
    if (known !== undefined) {
      refill(known, now)
      return known
    }
    const { perSecond, burst } = limitOf(action)
    const full = { perSecond: perSecond * share, burst: Math.max(1, Math.floor(burst * share)) }
    // A killed program may have as many calls in flight as this one may send at once. For now, only the vendor's allowance beyond them is available.
    const before = Math.max(0, full.burst - Math.max(1, Math.floor(burst) - full.burst))
    const made: Bucket = {
      full,
      rate: full.perSecond,
      // A starting program may follow one that used up the burst, and may be restarted again and again.
      tokens: 0,
      inFlight: 0,
      late: [],
      lateCalls: 0,
      at: now,
      pausedUntil: 0,
      lastBack: 0,
      line: [],
      isServed: false,
    }
    keepPlaces(made, before, { until: this.#begunAt + ARRIVES_WITHIN_MS, now })
    this.#buckets.set(action, made)
    return made
  }
}

/** Time until there is a token for a caller with this many ahead of it; whole milliseconds, rounded up. */
function waitOf({ tokens, rate, pausedUntil }: Bucket, now: number, before = 0): number {
  const forToken = Math.max(0, ((before + 1 - tokens) / rate) * 1_000)
  return Math.ceil(Math.max(0, pausedUntil - now) + forToken)
}

/** A different time for each: a thousand callers that came back together would be sent away again, except ten. */
function comeBackIn(bucket: Bucket, now: number, soonestMs: number): number {
  const apart = (1_000 / bucket.rate) * CLOSER
  const ms = Math.min(Math.max(soonestMs, bucket.lastBack + apart - now), Math.max(soonestMs, LONGEST_AWAY_MS))
  bucket.lastBack = now + ms
  return Math.ceil(ms)
}

interface Span {
  readonly until: number
  readonly now: number
}

function keepPlaces(bucket: Bucket, count: number, { until, now }: Span): void {
  if (count === 0 || until <= now) return
  const { late } = bucket
  bucket.lateCalls += count
  const at = late.findIndex((l) => l.until >= until)
  const there = late[at]
  if (there?.until === until) there.count += count
  else late.splice(at < 0 ? late.length : at, 0, { until, count })
}

function refill(bucket: Bucket, now: number): void {
  const { late } = bucket
  // Tokens for a place accumulate from the moment it is free.
  for (let [first] = late; first !== undefined && first.until <= now; [first] = late) {
    saveUp(bucket, first.until)
    bucket.lateCalls -= first.count
    late.shift()
  }
  saveUp(bucket, now)
}

function saveUp(bucket: Bucket, now: number): void {
  const { full, lateCalls, inFlight } = bucket
  const seconds = (now - Math.max(bucket.at, Math.min(bucket.pausedUntil, now))) / 1_000
  bucket.at = Math.max(bucket.at, now)
  if (seconds <= 0) return
  bucket.tokens = Math.min(full.burst - inFlight - lateCalls, bucket.tokens + bucket.rate * seconds)
  bucket.rate = Math.min(full.perSecond, bucket.rate + full.perSecond * RECOVERY_PER_SECOND * seconds)
}
