// Cause, checks and remedy for an error number.
import type { ErrorCode } from '#lib/error-table.ts'

interface Advised {
  /** What happened, whichever message reports it. */
  readonly cause: string
  /** What to check before doing anything. */
  readonly check: string
  /** What to do. No two numbers have the same remedy: otherwise they would be one number. */
  readonly do: string
}
export type Advice = Readonly<Record<ErrorCode, Advised>>
