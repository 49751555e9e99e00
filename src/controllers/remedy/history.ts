// What the jobs of a rule and of a node say about the past. Jobs are kept for a day after they closed, so that this needs no memory.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

export const isOpen = (job: RemedyOperationJob): boolean => job.status?.phase !== 'Done'
export const createdAt = (job: RemedyOperationJob): number => timeOf(job.metadata.creationTimestamp) ?? 0
export const finishedAt = (job: RemedyOperationJob): number => timeOf(job.status?.finishedAt) ?? createdAt(job)
export const hasStarted = (job: RemedyOperationJob): boolean => job.status?.startedAt !== undefined
export const ruleOf = (job: RemedyOperationJob): string => job.spec.remedierRef.name

/** Later first; within one second (stamps have no more) the higher rung and attempt are later. */
const later = (a: RemedyOperationJob, b: RemedyOperationJob): number =>
  createdAt(b) - createdAt(a) ||
  finishedAt(b) - finishedAt(a) ||
  b.spec.rung - a.spec.rung ||
  b.spec.attempt - a.spec.attempt ||
  (String(a.metadata.name) < String(b.metadata.name) ? -1 : 1)

export const lastJob = (jobs: readonly RemedyOperationJob[]): RemedyOperationJob | undefined => jobs.toSorted(later)[0]

/** Counts what started in the last `windowMs`, and all that still may. A stamp in the future is a wrong clock and counts. */
export function countRepairs(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number {
  return jobs.filter((job) => {
    if (isOpen(job)) return true
    const at = timeOf(job.spec.dryRun ? job.metadata.creationTimestamp : job.status?.startedAt)
    return at !== undefined && now - at < windowMs
  }).length
}

/** When the first of what is counted leaves the window; undefined while nothing will by itself. */
export function untilOneLeaves(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number | undefined {
  const ends = jobs.flatMap((job) => {
    const at = isOpen(job)
      ? undefined
      : timeOf(job.spec.dryRun ? job.metadata.creationTimestamp : job.status?.startedAt)
    return at !== undefined && now - at < windowMs ? [at + windowMs - now] : []
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}
