// The transitions of a job through its phases. Only the protocol's table decides which are allowed. A refused transition throws, and the job is
// reconciled again.
import type { Reason } from '#api/catalogue.ts'
import { type JobEvent, type JobFacts, nextJobPhase } from '#api/protocol/job.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { JobChange, JobPlan, Waiting } from './actions.ts'
import { type JobStatus, type JobStep, type Seen, phaseOf } from './seen.ts'
import { endText } from './plan-acceptance.ts'
import type { Held } from './plan-holds.ts'
import { remedyjobErrors } from './remedyjob-errors.ts'

const REQUEUE_MS = 30_000

export const isStarted = (step: JobStep): boolean =>
  step.startedAt !== undefined && step.outcome === undefined && step.attempts > 0

export const wait = (predicate: Reason, text: string, unblock: string, requeueAfter?: number): JobPlan => ({
  actions: [],
  waiting: { predicate, seen: text, unblock } satisfies Waiting,
  ...defined({ requeueAfter }),
})

/** Nothing new starts under a hold. */
export const waitForHold = ({ hold, text }: Held, requeueAfter?: number): JobPlan => {
  const planned = wait('HoldPause', text, 'the hold ends', requeueAfter)
  return planned.waiting === undefined ? planned : { ...planned, waiting: { ...planned.waiting, hold } }
}

/** A transition of the table, which alone decides what may follow. */
export function move(seen: Seen, event: JobEvent, facts: JobFacts): Pick<JobChange, 'phase'> {
  const step = nextJobPhase(phaseOf(seen.job), event, facts)
  if (step.ok) return { phase: step.state }
  throw new KubeNodeError(
    remedyjobErrors.KN3001_job({ event, name: String(seen.job.metadata.name), refusal: JSON.stringify(step.refusal) }),
    { retry: 'later' },
  )
}

export function finish(seen: Seen, now: number, outcome: NonNullable<JobStatus['outcome']>, message: string): JobPlan {
  const noStepStarted = !(seen.job.status?.steps ?? []).some(isStarted)
  if (!noStepStarted)
    return wait(
      'WaitingForOther',
      `to end as ${outcome} (${message}): a step is running`,
      'the step finishes',
      REQUEUE_MS,
    )
  // Closing a job because of a stale cache would leave a fault without a repair.
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  return {
    actions: [],
    change: {
      ...move(seen, 'finish', { outcomeKnown: true, noStepStarted }),
      outcome,
      message: endText(seen, message),
      finishedAt: now,
    },
  }
}
