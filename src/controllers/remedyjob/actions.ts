// The closed list of what the job controller does, and what it writes down about a job.
import type { Machine } from '#api/kinds/machine.ts'
import type { Reason } from '#api/catalogue.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { JobStatus, JobStep } from './seen.ts'

export interface PermitTarget {
  readonly kind: 'Machine' | 'Node'
  readonly name: string
  readonly uid: string
}

export type JobAction =
  | PermitAction
  /** The complete list of jobs that the agent of the machine should watch. */
  | { readonly kind: 'ListJobs'; readonly reason: string; readonly machine: Machine; readonly jobs: readonly string[] }
  /** One central step, which was written down as begun before. */
  | { readonly kind: 'DoStep'; readonly reason: string; readonly step: JobStep }
  | { readonly kind: 'ReleaseCordon'; readonly reason: string; readonly owner: string }
  | { readonly kind: 'ReleaseFence'; readonly reason: string; readonly owner: string }
  | { readonly kind: 'DeleteRecord'; readonly reason: string }
  | { readonly kind: 'ReleaseRecord'; readonly reason: string }

export interface Waiting {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
  /** The hold that it waits for. */
  readonly hold?: string
}

/** What is written down once the actions are done. Times in milliseconds since 1970. */
export interface JobChange {
  readonly phase?: JobStatus['phase']
  readonly outcome?: NonNullable<JobStatus['outcome']>
  readonly permitRef?: string
  /** Replaces our step of the same index. */
  readonly step?: JobStep
  readonly startedAt?: number
  /** `null` takes it away: the fault is there. */
  readonly verifyUntil?: number | null
  readonly finishedAt?: number
  readonly message?: string
}

export interface JobPlan {
  readonly actions: readonly JobAction[]
  readonly change?: JobChange
  readonly waiting?: Waiting
  readonly requeueAfter?: number
  /** The decision must be made again with what the server says now. */
  readonly needsFresh?: boolean
}

/** The result of a central step; without an outcome it continues. Skipped: it was not done, and the repair continues without it. */
export interface StepResult {
  readonly outcome?: 'Succeeded' | 'Failed' | 'Skipped'
  readonly output: string
  /** Sooner than the plan says. */
  readonly againMs?: number
}
