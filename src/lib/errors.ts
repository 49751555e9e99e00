// The base class of every error in this project: a registered number with its text, whether a retry can help, and data without secrets.
import type { ErrorCode, ErrorMessage } from './error-table.ts'

/** never: a person must change something; later: with backoff; now: the state changed, reconcile again at once. */
export type Retry = 'never' | 'later' | 'now'

export type { ErrorCode, ErrorMessage } from './error-table.ts'

export interface ErrorOptions {
  readonly retry?: Retry
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** Its message comes from a room's table (see error-table.ts), so every used number is documented. */
export class KubeNodeError extends Error {
  override readonly name = 'KubeNodeError'
  readonly code: ErrorCode
  readonly retry: Retry
  readonly data: Readonly<Record<string, unknown>>

  constructor(message: ErrorMessage, { retry = 'never', data = {}, cause }: ErrorOptions = {}) {
    super(numbered(message), cause === undefined ? undefined : { cause })
    this.code = message.code
    this.retry = retry
    this.data = data
  }
}

/** Text for people, if nothing is thrown. */
export const numbered = ({ code, text }: ErrorMessage): string => `${code}: ${text}`

export const isKubeNodeError = (e: unknown): e is KubeNodeError => e instanceof KubeNodeError

/** The text of anything thrown, for messages and logs. */
export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** Ends a switch over a tagged union: the type checker reports a missing case. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
