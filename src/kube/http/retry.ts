// Decides whether the HTTP client itself tries a request again, and after how long. Pure.
import { ApiError, ConnectionError } from '../errors.ts'

export interface Failed {
  readonly error: unknown
  /** 1 for the first try. */
  readonly attempt: number
  /** GET and HEAD: may be repeated whatever happened to the first. */
  readonly isRead: boolean
  /** A 429 is a disruption budget's answer to an eviction, not overload; the caller decides. */
  readonly isEviction: boolean
}

/** Tries of one call; what outlasts them is for the caller's queue, which backs off over minutes. */
const MAX_ATTEMPTS = 4
const FIRST_WAIT_MS = 200
/** A server that asks for more than this is left to the caller: a call must not hang for minutes. */
const LONGEST_WAIT_MS = 15_000

const TRANSIENT: ReadonlySet<number> = new Set([500, 502, 503, 504])

/** Milliseconds to wait before the next try, or undefined when the error is the answer. `spread` is in [0, 1). */
export function retryAfterMs({ error, attempt, isRead, isEviction }: Failed, spread: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS || !isRetriable(error, isRead, isEviction)) return undefined
  const asked = error instanceof ApiError ? error.retryAfterMs : undefined
  if (asked !== undefined && asked > LONGEST_WAIT_MS) return undefined
  // What the server asked for is a lower bound; the spread keeps a herd from coming back in step.
  const own = FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + spread)
  return asked === undefined ? own : asked + own
}

function isRetriable(error: unknown, isRead: boolean, isEviction: boolean): boolean {
  if (error instanceof ConnectionError) return isRead
  if (!(error instanceof ApiError)) return false
  if (error.status === 429) return !isEviction
  return isRead && TRANSIENT.has(error.status)
}

/** Seconds or an HTTP date, as RFC 9110 has it; undefined when it says nothing usable. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
