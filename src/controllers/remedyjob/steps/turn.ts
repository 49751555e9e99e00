// The current step of a job.
import type { Operation } from '#api/protocol/operations.ts'
import type { JobStep } from '../seen.ts'

export interface Turn {
  readonly index: number
  readonly step: JobStep | undefined
  readonly isLate: boolean
  /** How far the job is past its timeout. Negative before. */
  readonly lateMs: number
  readonly operation: Operation
}
