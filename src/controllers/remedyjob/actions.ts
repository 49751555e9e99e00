// The closed list of the job controller's actions, and the changes that it records on a job.
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
  /** The complete list of jobs that the machine's agent should watch. */
  | { readonly kind: 'ListJobs'; readonly reason: string; readonly machine: Machine; readonly jobs: readonly string[] }
  /** One central step, recorded as started before. */
  | { readonly kind: 'DoStep'; readonly reason: string; readonly step: JobStep }
  /** Of a step that ends before its pod. */
  | { readonly kind: 'EndPod'; readonly reason: string; readonly pod: NonNullable<JobStep['pod']> }
  | { readonly kind: 'ReleaseCordon'; readonly reason: string; readonly owner: string }
  | { readonly kind: 'ReleaseFence'; readonly reason: string; readonly owner: string }
  | { readonly kind: 'ReleaseDevices'; readonly reason: string; readonly incident: string }
  | { readonly kind: 'DeleteRecord'; readonly reason: string }
  | { readonly kind: 'ReleaseRecord'; readonly reason: string }

export interface Waiting {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
  /** The hold that it waits for. */
  readonly hold?: string
}

/** Recorded once the actions are done. Times are in milliseconds since 1970. */
export interface JobChange {
  readonly phase?: JobStatus['phase']
  readonly outcome?: NonNullable<JobStatus['outcome']>
  readonly permitRef?: string
  /** Replaces our step with the same index. */
  readonly step?: JobStep
  readonly startedAt?: number
  /** `null` removes it: the fault is present. */
  readonly verifyUntil?: number | null
  readonly finishedAt?: number
  readonly message?: string
}

export interface JobPlan {
  readonly actions: readonly JobAction[]
  readonly change?: JobChange
  readonly waiting?: Waiting
  readonly requeueAfter?: number
  /** Decide again with data read from the server. */
  readonly needsFresh?: boolean
}

/** The result of a central step. Without an outcome it continues. Skipped: it was not done, and the repair continues without it. */
export interface StepResult {
  readonly outcome?: 'Succeeded' | 'Failed' | 'Skipped'
  readonly output: string
  /** Recorded in the step: how far a rescue is, and the boot that it ends; the pod that was created. */
  readonly keeps?: Pick<JobStep, 'verb' | 'bootID' | 'pod'>
  /** Earlier than planned. */
  readonly againMs?: number
}
