// A repair of a replay: its job in memory, what became of it, and when two jobs are the same repair. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { jsonEqual } from '#lib/json.ts'

/** Two jobs for the same work on a node within this time are one: times of observation differ a little. */
export const SAME_WITHIN_MS = 60_000

export type Outcome = NonNullable<NonNullable<RemedyOperationJob['status']>['outcome']>

/** What a replayed job is in the meantime. */
export interface ReplayedJob {
  job: RemedyOperationJob
  readonly createdAt: number
  /** The time that its operations take. */
  durationMs: number
  startedAt: number | undefined
  finishedAt: number | undefined
  /** Since when its rule is no longer true for the node. */
  clearedAt: number | undefined
  /** It has the state of a recorded job. */
  isRecorded: boolean
  isAsked: boolean
}

/** Node, rule, rung, attempt and sort: what two jobs for the same work have in common whatever they are called. */
export const workKey = ({ spec }: RemedyOperationJob): string =>
  `${spec.node.uid} ${spec.remedierRef.name} ${spec.rung} ${spec.attempt} ${spec.dryRun}`

/** The same repair, whichever rule version asked for it. */
export const isSameWork = (a: RemedyOperationJob, b: RemedyOperationJob): boolean =>
  a.spec.dryRun === b.spec.dryRun && jsonEqual(a.spec.operations, b.spec.operations)
