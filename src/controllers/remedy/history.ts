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
/** Nothing was asked for or done yet that could not be left undone. */
export const isWaiting = (job: RemedyOperationJob): boolean =>
  job.status?.phase === undefined || job.status.phase === 'Pending' || job.status.phase === 'AwaitingPermit'

/** Later first; within one second (stamps have no more) the higher rung and attempt are later. */
const later = (a: RemedyOperationJob, b: RemedyOperationJob): number =>
  createdAt(b) - createdAt(a) ||
  finishedAt(b) - finishedAt(a) ||
  b.spec.rung - a.spec.rung ||
  b.spec.attempt - a.spec.attempt ||
  (String(a.metadata.name) < String(b.metadata.name) ? -1 : 1)

export const lastJob = (jobs: readonly RemedyOperationJob[]): RemedyOperationJob | undefined => jobs.toSorted(later)[0]

/** When it counts as a repair: from its start; a dry run never starts. */
const countsFrom = (job: RemedyOperationJob): number | undefined =>
  timeOf(job.spec.dryRun ? job.metadata.creationTimestamp : job.status?.startedAt)

/** Counts what started in the last `windowMs`, and all that still may. A stamp in the future is a wrong clock and counts. */
export function countRepairs(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number {
  return jobs.filter((job) => {
    if (isOpen(job)) return true
    const at = countsFrom(job)
    return at !== undefined && now - at < windowMs
  }).length
}

/** When the first of what is counted leaves the window; undefined while nothing will by itself. */
export function untilOneLeaves(jobs: readonly RemedyOperationJob[], windowMs: number, now: number): number | undefined {
  const ends = jobs.flatMap((job) => {
    const at = isOpen(job) ? undefined : countsFrom(job)
    return at !== undefined && now - at < windowMs ? [at + windowMs - now] : []
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}

export interface Tally {
  readonly jobs: readonly RemedyOperationJob[]
  readonly open: number
  readonly lastHour: number
  readonly lastDay: number
  readonly hourLeavesInMs: number | undefined
  readonly dayLeavesInMs: number | undefined
}

/** The jobs of one look, sorted once and counted once, however many nodes ask. */
export class History {
  readonly #now: number
  readonly #byNode: ReadonlyMap<string, readonly RemedyOperationJob[]>
  readonly #byRule: ReadonlyMap<string, readonly RemedyOperationJob[]>
  readonly #tallies = new Map<string, Tally>()

  constructor(jobs: readonly RemedyOperationJob[], now: number) {
    this.#now = now
    this.#byNode = Map.groupBy(jobs, (j) => j.spec.node.uid)
    this.#byRule = Map.groupBy(jobs, (j) => sortOf(ruleOf(j), j.spec.dryRun))
  }

  ofNode(uid: string): readonly RemedyOperationJob[] {
    return this.#byNode.get(uid) ?? []
  }

  /** Of repairs, or of dry runs. */
  ofRule(rule: string, dryRun: boolean): Tally {
    const sort = sortOf(rule, dryRun)
    const known = this.#tallies.get(sort)
    if (known !== undefined) return known
    const jobs = this.#byRule.get(sort) ?? []
    const tally = {
      jobs,
      open: jobs.filter(isOpen).length,
      lastHour: countRepairs(jobs, HOUR_MS, this.#now),
      lastDay: countRepairs(jobs, DAY_MS, this.#now),
      hourLeavesInMs: untilOneLeaves(jobs, HOUR_MS, this.#now),
      dayLeavesInMs: untilOneLeaves(jobs, DAY_MS, this.#now),
    }
    this.#tallies.set(sort, tally)
    return tally
  }
}

const sortOf = (rule: string, dryRun: boolean): string => `${rule}\n${dryRun}`
