// The status of a job as the job controller writes it: everything except the agent's own steps. Pure; equal inputs give equal statuses.
import type { Reason } from '#api/catalogue.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { type WantedCondition, setConditions } from '#kube/conditions.ts'
import type { JobChange, JobPlan, StepResult } from './actions.ts'
import type { JobStatus, JobStep, Seen } from './seen.ts'
import { outputEnd } from './steps/step-output.ts'
import { defined } from '#lib/defined.ts'

const MAX_SENTENCE = 200

/** What was last written under our own name. */
export function ownStatus({ job }: Pick<Seen, 'job'>): JobStatus {
  const { steps, evidence: _, ...rest } = job.status ?? {}
  const own = ownSteps(steps)
  return { ...rest, ...(own.length > 0 && { steps: own }) }
}

/** The job after this write. The agent's steps stay, except a step that was taken over. */
export function withStatus(job: RemedyOperationJob, status: JobStatus): RemedyOperationJob {
  const agents = (job.status?.steps ?? []).filter((s) => s.executor === 'Agent')
  const steps = withSteps(agents, status.steps ?? [])
  const evidence = job.status?.evidence
  return { ...job, status: { ...status, steps, ...defined({ evidence }) } }
}

const ownSteps = (steps: JobStatus['steps']): readonly JobStep[] => (steps ?? []).filter((s) => s.executor !== 'Agent')

/** `result` is the result of a central step. `trouble` is why an action failed, in which case the change does not apply. */
export interface Went {
  readonly result?: { readonly step: JobStep; readonly went: StepResult }
  readonly trouble?: string
}

export function statusOf(seen: Seen, plan: JobPlan, { result, trouble }: Went, now: number): JobStatus {
  const before = ownStatus(seen)
  const change: JobChange = trouble === undefined ? (plan.change ?? {}) : {}
  const { verifyUntil, step, startedAt, finishedAt, message, ...plain } = change
  const { verifyUntil: oldVerify, waitingFor: oldWaiting, steps: _, ...kept } = before
  const verify = verifyUntil === undefined ? oldVerify : verifyUntil === null ? undefined : timestamp(verifyUntil)
  const phase = plain.phase ?? before.phase ?? 'Pending'
  const waiting =
    phase === 'Done'
      ? undefined
      : trouble === undefined
        ? plan.waiting
        : { predicate: 'ReconcileFailed' as const, seen: trouble, unblock: 'the retry succeeds' }
  const finished = result === undefined ? undefined : finishedStep(result.step, result.went, now)
  const steps = withSteps(before.steps ?? [], [step, finished])
  const status: JobStatus = {
    ...kept,
    ...plain,
    phase,
    ...defined({ observedGeneration: seen.job.metadata.generation }),
    ...(steps.length > 0 && { steps }),
    ...(startedAt !== undefined && { startedAt: timestamp(startedAt) }),
    ...(verify !== undefined && phase === 'Verifying' && { verifyUntil: verify }),
    ...(finishedAt !== undefined && { finishedAt: timestamp(finishedAt) }),
    ...(message !== undefined && { message: message.slice(0, MAX_SENTENCE) }),
    ...(waiting !== undefined && { waitingFor: waitingOf(waiting, oldWaiting, now) }),
  }
  return { ...status, conditions: setConditions(before.conditions, conditionsOf(status), now) }
}

function finishedStep(step: JobStep, { outcome, output, keeps }: StepResult, now: number): JobStep {
  return {
    ...step,
    ...keeps,
    output: outputEnd(output),
    ...(outcome !== undefined && { outcome, finishedAt: timestamp(now) }),
  }
}

const withSteps = (steps: readonly JobStep[], changed: readonly (JobStep | undefined)[]): readonly JobStep[] => {
  const byIndex = new Map([...steps, ...changed.flatMap((s) => s ?? [])].map((s) => [s.index, s]))
  return [...byIndex.values()].toSorted((a, b) => a.index - b.index)
}

type WaitingFor = NonNullable<JobStatus['waitingFor']>

/** Since when it waits for this exact thing. */
function waitingOf(
  { predicate, seen, unblock, hold }: NonNullable<JobPlan['waiting']>,
  old: WaitingFor | undefined,
  now: number,
): WaitingFor {
  const since = old?.predicate === predicate ? old.since : timestamp(now)
  const [text, end] = [seen, unblock].map((t) => t.slice(0, MAX_SENTENCE))
  return { predicate, seen: text ?? '', since, unblock: end ?? '', ...defined({ hold }) }
}

function conditionsOf({ phase, outcome, message = '', waitingFor }: JobStatus): readonly WantedCondition[] {
  const of = (type: string, status: 'True' | 'False' | 'Unknown', reason: Reason, text: string): WantedCondition => ({
    type,
    status,
    reason,
    message: text,
  })
  const isDone = phase === 'Done'
  const isGood = outcome === 'Succeeded' || outcome === 'Superseded' || outcome === 'Cancelled'
  const wasGranted = phase === 'Running' || phase === 'Verifying'
  const now = waitingFor?.seen ?? message
  return [
    isDone
      ? of('Ready', isGood ? 'True' : 'False', isGood ? 'AsDeclared' : 'StepFailed', message)
      : of('Ready', 'False', 'Progressing', 'the repair is running'),
    isDone
      ? of('Reconciling', 'False', 'AsDeclared', 'the repair has finished')
      : of('Reconciling', 'True', 'Progressing', now),
    outcome === 'Permanent'
      ? of('Stalled', 'True', 'StepFailed', message)
      : of('Stalled', 'False', 'Progressing', 'no manual intervention needed'),
    ...(isDone
      ? []
      : [
          wasGranted
            ? of('PermitGranted', 'True', 'PermitGranted', 'granted by the Defender')
            : of('PermitGranted', 'False', 'PermitRequested', 'not granted yet'),
        ]),
    ...cleared(),
  ]

  /** The condition's transition to Unknown marks the start of the verification. */
  function cleared(): readonly WantedCondition[] {
    if (outcome === 'Succeeded') return [of('FaultCleared', 'True', 'VerificationPassed', message)]
    if (outcome === 'Escalated') return [of('FaultCleared', 'False', 'VerificationFailed', message)]
    return phase === 'Verifying'
      ? [of('FaultCleared', 'Unknown', 'Progressing', 'verifying that the fault does not return')]
      : []
  }
}
