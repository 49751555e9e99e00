// Cause, checks and remedy for an error number.
import type { ErrorCode } from '#lib/error-table.ts'

interface Advised {
  /** What happened, whichever sentence names it. */
  readonly cause: string
  /** What to check before doing anything. */
  readonly check: string
  /** What to do. Two numbers never ask for the same: they would be one. */
  readonly do: string
}
export type Advice = Readonly<Record<ErrorCode, Advised>>
