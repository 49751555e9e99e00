// The result of one reconcile of a key, and the one place where errors turn into queue behavior.
import { isApiError } from '#kube/errors.ts'
import { isKubeNodeError } from '#lib/errors.ts'

export type Outcome =
  /** Nothing more to do until something changes. */
  | { readonly kind: 'Done' }
  /** Succeeded; reconcile again after this time even if nothing changes. */
  | { readonly kind: 'Requeue'; readonly afterMs: number }
  /** Something failed: again with the key's backoff. */
  | { readonly kind: 'Retry'; readonly error: unknown }

export const done: Outcome = { kind: 'Done' }
export const requeueAfter = (afterMs: number): Outcome => ({ kind: 'Requeue', afterMs })
export const retry = (error: unknown): Outcome => ({ kind: 'Retry', error })

/** Done, unless a time is named. */
export const doneOrAfter = (afterMs: number | undefined): Outcome =>
  afterMs === undefined ? done : requeueAfter(afterMs)

/** When a failed key is retried. */
export type NextTry =
  | { readonly kind: 'Backoff' }
  /** The server said when; the key's backoff counts on beside it. */
  | { readonly kind: 'NotBefore'; readonly afterMs: number }
  /** Only a person can fix this: an edit wakes the key at once, otherwise it is retried rarely. */
  | { readonly kind: 'Parked'; readonly afterMs: number }

/** The fix of an outside cause (a role, a quota) is noticed within this time although no watch reports it. */
export const PARKED_MS = 300_000

/** A longer wait demanded by a server is cut to this. */
const LONGEST_RETRY_AFTER_MS = 600_000

export function nextTry(error: unknown): NextTry {
  const afterMs = retryAfterMs(error)
  if (afterMs !== undefined) return { kind: 'NotBefore', afterMs: Math.min(afterMs, LONGEST_RETRY_AFTER_MS) }
  // `now` takes the backoff too: it starts at milliseconds, and a race that is lost for ever must not spin.
  return isKubeNodeError(error) && error.retry === 'never'
    ? { kind: 'Parked', afterMs: PARKED_MS }
    : { kind: 'Backoff' }
}

function retryAfterMs(error: unknown): number | undefined {
  const ms = isApiError(error) ? error.retryAfterMs : undefined
  return ms !== undefined && ms > 0 ? ms : undefined
}
