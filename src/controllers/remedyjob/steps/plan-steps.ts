// Decides about the steps of a running job: which is next, what executes it, and when it has failed. One step at a time, each recorded before it is
// done.
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { timestamp } from '#lib/clock.ts'
import { waitForAgent } from './agent-steps.ts'
import { centralStep } from './central-steps.ts'
import type { JobAction, JobPlan } from '../actions.ts'
import type { StepExecutor } from '#api/protocol/job.ts'
import { type Operation, acceptanceText, isRescue, operationFacts, operationName } from '#api/protocol/operations.ts'
import { type JobStep, type Seen, isFrozen, isSilent, needsRescue, nextOperation } from '../seen.ts'
import { atWorkIn } from './job-list.ts'
import { takeOverInMs, waitedMs } from './take-over.ts'
import type { Held } from '../plan-holds.ts'
import { finish, isStarted, move, waitForHold } from '../plan-transitions.ts'
import type { Turn } from './turn.ts'
import { heldBy } from '../plan-holds.ts'

const HELD_REQUEUE_MS = 30_000
/**
 * Evidence is worth a wait, but no node stays broken for it: neither if it falls silent in the middle, nor if its agent has no disk for the evidence.
 */
const EVIDENCE_MS = 60_000
/** For a live agent that has started: each of its programs has its own timeout. */
const EVIDENCE_BEGUN_MS = 300_000

export function planSteps(seen: Seen, now: number): JobPlan {
  const { job } = seen
  const index = nextOperation(job)
  const operation = index === undefined ? undefined : job.spec.operations[index]
  if (index === undefined || operation === undefined) {
    if (!seen.isFresh) return { actions: [], needsFresh: true }
    const unable = whyUnable(seen)
    if (unable !== undefined) return finish(seen, now, 'Escalated', unable)
    return {
      actions: [],
      change: {
        ...move(seen, 'verify', { stepsSucceeded: true }),
        message: 'verifying that the fault does not return',
      },
    }
  }
  const step = job.status?.steps?.find((s) => s.index === index)
  if (step?.outcome === 'Failed') return finish(seen, now, 'Transient', failureText(seen, index, operation, step))
  const deadline = Date.parse(job.status?.startedAt ?? '') + parseDuration(job.spec.timeout)
  const turn: Turn = { index, step, isLate: !(now < deadline), lateMs: now - deadline, operation }
  // Replacing a machine removes its node.
  if (operationFacts(operation)?.takesNode !== true && node(seen) === undefined) return nodeDeleted(seen, now)
  const held = step === undefined || !isStarted(step) ? heldBy(seen, now) : undefined
  if (held !== undefined && !turn.isLate && operationFacts(operation)?.givesBack !== true)
    return untilMayGoOn(seen, held)
  const executor = step?.executor ?? firstExecutor(seen, operation)
  if (executor !== 'Agent') return centralStep(seen, now, { ...turn, executor })
  const instead = operation.collectEvidence !== undefined ? withoutEvidence(seen, now, turn) : undefined
  if (instead !== undefined) return instead
  const takeOverMs = takeOverInMs(seen, now, turn)
  if (takeOverMs === 0)
    return centralStep(seen, now, { ...turn, executor: 'Provider', isTakenOver: step !== undefined })
  return { ...soonerThan(waitForAgent(seen, now, turn), takeOverMs), actions: listJobs(seen) }
}

/** Every step was a rescue, and the host takes none: there is nothing to verify, and the next rung follows at once. */
function whyUnable(seen: Seen): string | undefined {
  const { operations } = seen.job.spec
  const steps = seen.job.status?.steps ?? []
  // Evidence is put before a reboot, and a silent agent collects none.
  const areRescues = operations.every((o) => isRescue(o) || o.collectEvidence !== undefined)
  if (!areRescues || steps.some((s) => s.outcome !== 'Skipped') || !needsRescue(seen)) return undefined
  return `skipped: ${lastLine(steps.at(-1)?.output)}`
}

/** Nothing new starts under a hold: the agent does not see the job during that time. The job's timeout keeps running. */
const untilMayGoOn = (seen: Seen, held: Held): JobPlan => ({
  ...waitForHold(held, HELD_REQUEUE_MS),
  actions: listJobs(seen, false),
})

const soonerThan = (planned: JobPlan, ms: number | undefined): JobPlan =>
  ms === undefined ? planned : { ...planned, requeueAfter: Math.min(planned.requeueAfter ?? ms, ms) }

function firstExecutor(seen: Seen, operation: Operation): StepExecutor {
  const known = operationFacts(operation)
  if (known?.byProviderIfSilent === true && isSilent(seen)) return 'Provider'
  return known?.executor ?? 'Controller'
}

const node = ({ node: found, job }: Seen) => (found?.metadata.uid === job.spec.node.uid ? found : undefined)

function failureText({ job }: Seen, index: number, operation: Operation, { output }: JobStep): string {
  return index === job.spec.acceptance
    ? `${acceptanceText(operation)} failed: ${lastLine(output)}`
    : `step ${index} ${operationName(operation)} failed: ${lastLine(output)}`
}

const lastLine = (output: string | undefined): string => (output ?? '').trim().split('\n').at(-1)?.slice(0, 120) ?? ''

/** The node no longer exists, and the steps started there ended with it. */
function nodeDeleted(seen: Seen, now: number): JobPlan {
  const open = (seen.job.status?.steps ?? []).filter(isStarted)
  const text = `node ${seen.job.spec.node.name} was deleted or replaced`
  if (open.length === 0) return finish(seen, now, 'Superseded', text)
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  // The executor ended with its node, so no step can still be running.
  const phase = move(seen, 'finish', { outcomeKnown: true, noStepStarted: true })
  return { actions: [], change: { ...phase, outcome: 'Superseded', message: text, finishedAt: now } }
}

/** Undefined: the evidence is saved, or still may be. */
function withoutEvidence(seen: Seen, now: number, { index, step }: Turn): JobPlan | undefined {
  if (step?.outcome !== undefined || isFrozen(seen)) return undefined
  const isAtWork = step !== undefined && isStarted(step)
  const waited = isAtWork ? now - Date.parse(step.startedAt ?? '') : waitedMs(seen, now)
  const isAway = isSilent(seen)
  const patienceMs = isAway && !isAtWork ? 0 : isAtWork && !isAway ? EVIDENCE_BEGUN_MS : EVIDENCE_MS
  if (waited < patienceMs) return undefined
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  const output = isAway
    ? 'no heartbeat from the agent: no evidence collected'
    : `the agent collected no evidence within ${formatDuration(patienceMs)}`
  return {
    actions: [],
    change: {
      step: {
        index,
        operation: 'collectEvidence',
        executor: 'Controller',
        attempts: step?.attempts ?? 0,
        ...defined({ startedAt: step?.startedAt }),
        outcome: 'Skipped',
        finishedAt: timestamp(now),
        output,
      },
    },
  }
}

/** Running jobs of this machine, including this one. */
export function listJobs(seen: Seen, isShown = true): readonly JobAction[] {
  const { machine, job } = seen
  if (machine === undefined) return []
  const others = seen.others.filter((j) => j.spec.machine === job.spec.machine)
  const jobs = atWorkIn([...(isShown ? [job] : []), ...others])
  const listed = machine.spec.jobs ?? []
  if (listed.length === jobs.length && jobs.every((j) => listed.includes(j))) return []
  return [{ kind: 'ListJobs', reason: 'the agent needs the list of running jobs', machine, jobs }]
}
