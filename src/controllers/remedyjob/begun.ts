// Which attempts of a job have begun, by its status. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { JobStatus, JobStep } from './seen.ts'
import { isBegun } from './transitions.ts'

export const attemptOf = ({ index, attempts }: JobStep): string => `${index}/${attempts}`

const begunIn = (status: JobStatus | undefined): readonly string[] =>
  (status?.steps ?? []).filter(isBegun).map(attemptOf)

/** Attempts that begin with this very status. */
export function begunBy(status: JobStatus, before: RemedyOperationJob): readonly string[] {
  const known = new Set(begunIn(before.status))
  return begunIn(status).filter((attempt) => !known.has(attempt))
}
