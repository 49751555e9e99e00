// Computes the status to write after the actions of one reconcile. Pure.
import { jsonEqual } from '#lib/json.ts'
import { startedBy } from '../steps/started.ts'
import type { JobPlan } from '../actions.ts'
import { type JobStatus, type Seen, phaseOf } from '../seen.ts'
import { type Went, statusOf, withStatus } from '../status.ts'

/** Statuses computed per write: a rung has eight operations, and few are central. */
const MOST_STATUSES = 8

export interface Finished {
  readonly seen: Seen
  readonly planned: JobPlan
  readonly went: Went
  readonly now: number
}

/** The status after the actions, with everything that follows from it without another action: at most one change of phase. */
export function finalStatus(
  plan: (seen: Seen, now: number) => JobPlan,
  { seen, planned, went, now }: Finished,
): { readonly status: JobStatus; readonly last: JobPlan } {
  let status = statusOf(seen, planned, went, now)
  let last = planned
  if (went.trouble !== undefined) return { status, last }
  for (let n = 0; n < MOST_STATUSES && status.phase !== 'Done'; n++) {
    // This process will do what this write starts.
    const begun = new Set([...seen.begun, ...startedBy(status, seen.job)])
    const next = { ...seen, job: withStatus(seen.job, status), begun }
    const follows = plan(next, now)
    const phases = new Set([phaseOf(seen.job), status.phase, follows.change?.phase ?? status.phase])
    if (phases.size > 2 || (follows.change === undefined && follows.waiting === undefined)) return { status, last }
    // A change that depends on an action waits for it. The reported wait does not.
    const { change: _, ...still } = follows
    const isPure = follows.actions.length === 0
    const more = statusOf(next, isPure ? follows : still, {}, now)
    last = follows
    if (!isPure || jsonEqual(more, status)) return { status: more, last }
    status = more
  }
  return { status, last }
}
