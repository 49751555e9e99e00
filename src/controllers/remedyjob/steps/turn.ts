// The step of a job whose turn it is.
import type { Operation } from '#api/protocol/operations.ts'
import type { JobStep } from '../seen.ts'

export interface Turn {
  readonly index: number
  readonly step: JobStep | undefined
  readonly isLate: boolean
  /** By how much the job's time is over; negative before. */
  readonly lateMs: number
  readonly operation: Operation
}
