// Turns the refusals that every writer must expect into values, so that controllers switch over them instead of catching.
import { ApiError, ConnectionError, isAlreadyExists, isServerError } from './errors.ts'

export type WriteOutcome<T> =
  | { readonly kind: 'Applied'; readonly object: T }
  /** Another client wrote in between, or other managers own fields of an apply. */
  | { readonly kind: 'Conflict'; readonly error: ApiError }
  /** The object was deleted or replaced: decisions about it are void. */
  | { readonly kind: 'Stale'; readonly error: ApiError }
  | { readonly kind: 'Exists'; readonly error: ApiError }
  /** The server refuses: permission, validation, admission, or a disruption budget. */
  | { readonly kind: 'Denied'; readonly error: ApiError; readonly retryAfterMs: number | undefined }
  /** The reply was lost or the server failed: the write may or may not have happened. Read before repeating it. */
  | { readonly kind: 'Unknown'; readonly error: ApiError | ConnectionError }

const DENIED: ReadonlySet<number> = new Set([400, 401, 403, 405, 406, 413, 415, 422, 429])

/** Runs one write. Anything other than an ApiError or a lost connection is a bug and is rethrown. */
export async function outcomeOf<T>(write: () => Promise<T>): Promise<WriteOutcome<T>> {
  try {
    return { kind: 'Applied', object: await write() }
  } catch (error) {
    return refusal(error)
  }
}

function refusal(error: unknown): Exclude<WriteOutcome<never>, { kind: 'Applied' }> {
  if (error instanceof ConnectionError) return { kind: 'Unknown', error }
  if (!(error instanceof ApiError)) throw error
  if (isAlreadyExists(error)) return { kind: 'Exists', error }
  if (error.status === 404 || error.status === 410 || isUidMismatch(error)) return { kind: 'Stale', error }
  if (error.status === 409) return { kind: 'Conflict', error }
  if (DENIED.has(error.status)) return { kind: 'Denied', error, retryAfterMs: error.retryAfterMs }
  if (isServerError(error) || error.status === 408) return { kind: 'Unknown', error }
  throw error
}

/** A failed uid precondition is a Conflict on the wire; it means the object was replaced. */
const isUidMismatch = (e: ApiError): boolean => e.status === 409 && /precondition.*\bUID\b/i.test(e.serverMessage)
