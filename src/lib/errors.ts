// The one base of all errors that this project throws: a numbered code, whether trying again can help, and data without secrets.

/** never: a person must change something; later: with backoff; now: the state moved, look again at once. */
export type Retry = 'never' | 'later' | 'now'

export type ErrorCode = `KN${number}`

export interface ErrorOptions {
  readonly retry?: Retry
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** A message says what cannot be done, to which object, what was seen, and what the user does next. */
export class KubeNodeError extends Error {
  override readonly name = 'KubeNodeError'
  readonly code: ErrorCode
  readonly retry: Retry
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, { retry = 'never', data = {}, cause }: ErrorOptions = {}) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause })
    this.code = code
    this.retry = retry
    this.data = data
  }
}

export const isKubeNodeError = (e: unknown): e is KubeNodeError => e instanceof KubeNodeError

/** The text of anything thrown, for messages and logs. */
export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** Closes a switch over a tagged union: the type checker complains when a case is missing. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
