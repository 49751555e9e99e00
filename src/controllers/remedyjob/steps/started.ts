// Decides which attempts of a job have started, from its status. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { JobStatus, JobStep } from '../seen.ts'
import { isStarted } from '../plan-transitions.ts'

export const attemptOf = ({ index, attempts }: JobStep): string => `${index}/${attempts}`

const startedIn = (status: JobStatus | undefined): readonly string[] =>
  (status?.steps ?? []).filter(isStarted).map(attemptOf)

/** Attempts that start with this status. */
export function startedBy(status: JobStatus, before: RemedyOperationJob): readonly string[] {
  const known = new Set(startedIn(before.status))
  return startedIn(status).filter((attempt) => !known.has(attempt))
}
