// The result of reconciling a key, and the one place where errors become queue behavior.
import { isApiError } from '#kube/errors.ts'
import { isKubeNodeError } from '#lib/errors.ts'

export type Outcome =
  /** Nothing more to do until something changes. */
  | { readonly kind: 'Done' }
  /** Succeeded; reconcile again after this time even if nothing changes. */
  | { readonly kind: 'Requeue'; readonly afterMs: number }
  /** Failed; retry with the key's backoff. */
  | { readonly kind: 'Retry'; readonly error: unknown }

export const done: Outcome = { kind: 'Done' }
export const requeueAfter = (afterMs: number): Outcome => ({ kind: 'Requeue', afterMs })
export const retry = (error: unknown): Outcome => ({ kind: 'Retry', error })

/** Done, unless a time is given. */
export const doneOrAfter = (afterMs: number | undefined): Outcome =>
  afterMs === undefined ? done : requeueAfter(afterMs)

/** When a failed key is retried. */
export type NextTry =
  | { readonly kind: 'Backoff' }
  /** The server set the time; the key's backoff keeps counting. */
  | { readonly kind: 'NotBefore'; readonly afterMs: number }
  /** Only a person can fix this: an edit wakes the key at once, otherwise it is retried rarely. */
  | { readonly kind: 'Parked'; readonly afterMs: number }

/** A fix elsewhere (a role, a quota) takes effect within this time, although no watch reports it. */
export const PARKED_MS = 300_000

/** Upper limit of a wait that a server demands. */
const LONGEST_RETRY_AFTER_MS = 600_000

export function nextTry(error: unknown): NextTry {
  const afterMs = retryAfterMs(error)
  if (afterMs !== undefined) return { kind: 'NotBefore', afterMs: Math.min(afterMs, LONGEST_RETRY_AFTER_MS) }
  // `now` backs off too: it starts at milliseconds, and a race that is always lost must not spin.
  return isKubeNodeError(error) && error.retry === 'never'
    ? { kind: 'Parked', afterMs: PARKED_MS }
    : { kind: 'Backoff' }
}

function retryAfterMs(error: unknown): number | undefined {
  const ms = isApiError(error) ? error.retryAfterMs : undefined
  return ms !== undefined && ms > 0 ? ms : undefined
}
