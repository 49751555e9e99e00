// Decides whether the HTTP client retries a request itself, and after how long. Pure.
import { ApiError, ConnectionError, isTooLong } from '../errors.ts'

export interface Failed {
  readonly error: unknown
  /** 1 for the first attempt. */
  readonly attempt: number
  /** GET and HEAD: safe to repeat whatever happened to the first. */
  readonly isRead: boolean
  /** For an eviction, 429 is a disruption budget's denial, not overload; the caller decides. */
  readonly isEviction: boolean
}

/** Attempts per call; beyond that the caller's queue backs off over minutes. */
const MAX_ATTEMPTS = 4
const FIRST_WAIT_MS = 200
/** A longer requested wait is left to the caller: a call must not hang for minutes. */
const LONGEST_WAIT_MS = 15_000

const TRANSIENT: ReadonlySet<number> = new Set([500, 502, 503, 504])

/** Milliseconds until the next attempt; undefined if the error is final. `spread` is in [0, 1). */
export function retryAfterMs({ error, attempt, isRead, isEviction }: Failed, spread: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS || !isRetriable(error, isRead, isEviction)) return undefined
  const asked = error instanceof ApiError ? error.retryAfterMs : undefined
  if (asked !== undefined && asked > LONGEST_WAIT_MS) return undefined
  // The server's wait is a lower bound; the jitter keeps a herd from retrying in step.
  const own = FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + spread)
  return asked === undefined ? own : asked + own
}

function isRetriable(error: unknown, isRead: boolean, isEviction: boolean): boolean {
  if (error instanceof ConnectionError) return isRead && !isTooLong(error)
  if (!(error instanceof ApiError)) return false
  if (error.status === 429) return !isEviction
  return isRead && TRANSIENT.has(error.status)
}

/** Seconds or an HTTP date, as in RFC 9110; undefined if unusable. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
