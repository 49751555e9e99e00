// Decides about the steps of a job that runs: whose turn it is, who does it, and when it has failed. One step at a time, each written down before it is done.
import { type StepFacts, nextStepState } from '#api/protocol/job.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { parseDuration } from '#lib/duration.ts'
import { timestamp } from '#lib/clock.ts'
import { findCondition } from '#kube/conditions.ts'
import { isCordonedBy } from '#nodeops/cordon.ts'
import { permitAnswer } from '#nodeops/permits.ts'
import type { JobAction, JobPlan } from './moves.ts'
import { type Operation, executorOf, operationName } from './operations.ts'
import { type JobStep, type Seen, cordonOwner, nameOf, phaseOf, targetOf } from './seen.ts'
import { finish, isBegun, move } from './transitions.ts'

/** An agent that restarted says first that it does not know, and takes back what it never did soon after. */
const UNKNOWN_GRACE_MS = 10_000
const LOOK_AGAIN_MS = 15_000
/** A drain that waits for a pod asks again this often. */
const DRAIN_PASS_MS = 2_000

const endedWell = (step: JobStep | undefined): boolean => step?.outcome === 'Succeeded' || step?.outcome === 'Skipped'

export function planSteps(seen: Seen, now: number): JobPlan {
  const { job } = seen
  const stepAt = (index: number) => job.status?.steps?.find((s) => s.index === index)
  const index = job.spec.operations.findIndex((_, n) => !endedWell(stepAt(n)))
  const operation = job.spec.operations[index]
  if (operation === undefined) {
    if (!seen.isFresh) return { actions: [], needsFresh: true }
    return {
      actions: [],
      change: { ...move(seen, 'verify', { stepsSucceeded: true }), message: 'the fault has to stay away' },
    }
  }
  const step = stepAt(index)
  if (step?.outcome === 'Failed')
    return finish(seen, now, 'Transient', `step ${index} ${operationName(operation)} failed: ${lastLine(step.output)}`)
  const deadline = Date.parse(job.status?.startedAt ?? '') + parseDuration(job.spec.timeout)
  const isLate = !(now < deadline)
  if (node(seen) === undefined) return nodeGone(seen, now)
  const byProvider = operation.reboot !== undefined && step?.executor !== 'Agent' && isSilent(seen)
  const executor = step?.executor ?? (byProvider ? 'Provider' : executorOf(operation))
  const listing = executor === 'Agent' ? listJobs(seen) : []
  if (executor === 'Agent') return { ...waitForAgent(seen, now, { index, step, isLate, operation }), actions: listing }
  return centralStep(seen, now, { index, step, isLate, operation, executor })
}

const node = ({ node: found, job }: Seen) => (found?.metadata.uid === job.spec.node.uid ? found : undefined)
const lastLine = (output: string | undefined): string => (output ?? '').trim().split('\n').at(-1)?.slice(0, 120) ?? ''

/** Nobody is left to do a step: what was begun on it ended with it. */
function nodeGone(seen: Seen, now: number): JobPlan {
  const open = (seen.job.status?.steps ?? []).filter(isBegun)
  const text = `node ${seen.job.spec.node.name} is gone or another one`
  if (open.length === 0) return finish(seen, now, 'Superseded', text)
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  // The executor ended with the node it was on, so no step can be at work any more.
  const phase = move(seen, 'finish', { outcomeKnown: true, noStepStarted: true })
  return { actions: [], change: { ...phase, outcome: 'Superseded', message: text, finishedAt: now } }
}

const isSilent = ({ machine, standing }: Seen): boolean =>
  standing.kind === 'Silent' && findCondition(machine?.status?.conditions, 'AgentReachable')?.status === 'False'

interface Turn {
  readonly index: number
  readonly step: JobStep | undefined
  readonly isLate: boolean
  readonly operation: Operation
}

function waitForAgent(seen: Seen, now: number, { index, step, isLate, operation }: Turn): JobPlan {
  const what = `step ${index} ${operationName(operation)}`
  const waiting = (text: string): JobPlan => ({
    actions: [],
    waiting: { predicate: 'WaitingForOther', seen: text, unblock: 'the agent must do the step and report' },
    requeueAfter: LOOK_AGAIN_MS,
  })
  if (step?.outcome === 'Unknown') {
    const since = now - Date.parse(step.finishedAt ?? '')
    if (since >= 0 && since < UNKNOWN_GRACE_MS)
      return { ...waiting(`the agent does not know how ${what} ended`), requeueAfter: UNKNOWN_GRACE_MS }
    return finish(seen, now, 'Transient', `nobody knows how ${what} ended`)
  }
  if (step !== undefined && isBegun(step))
    return waiting(isLate ? `${what} is over its time; only the agent can say how it ended` : `${what} is being done`)
  const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
  if (permit.kind === 'Ended' || permit.kind === 'Absent')
    return finish(seen, now, 'Transient', `the permit ended before ${what}`)
  if (isLate) return finish(seen, now, 'Transient', `the agent did not begin ${what} in time`)
  return waiting(`${what} is the agent's`)
}

/** Jobs of this machine at work, ours among them. */
export function listJobs(seen: Seen): readonly JobAction[] {
  const { machine, job } = seen
  if (machine === undefined) return []
  const isAtWork = (j: typeof job) => phaseOf(j) === 'Running' || phaseOf(j) === 'Verifying'
  const jobs = [job, ...seen.others.filter((j) => j.spec.machine === job.spec.machine)]
    .filter(isAtWork)
    .map(nameOf)
    .toSorted()
  const listed = machine.spec.jobs ?? []
  if (listed.length === jobs.length && jobs.every((j) => listed.includes(j))) return []
  return [{ kind: 'ListJobs', reason: 'the agent shall see what is at work', machine, jobs }]
}

function centralStep(
  seen: Seen,
  now: number,
  { index, step, isLate, operation, executor }: Turn & { readonly executor: 'Controller' | 'Provider' },
): JobPlan {
  const name = operationName(operation)
  if (name === undefined) return finish(seen, now, 'Permanent', `step ${index} is not known to this version`)
  const base = { index, operation: name, executor, attempts: step?.attempts ?? 0 }
  const unneeded = isUnneeded(seen, operation)
  if (step === undefined || !isBegun(step)) {
    if (step?.outcome === 'Unknown')
      return finish(seen, now, 'Transient', `nobody knows how step ${index} ${name} ended`)
    if (unneeded)
      return {
        actions: [],
        change: {
          step: {
            ...base,
            ...check(executor, 'Waiting', 'skip', { turn: true, unneeded }),
            finishedAt: timestamp(now),
            output: 'already so',
          },
        },
      }
    if (isLate) return finish(seen, now, 'Transient', `the time was over before step ${index} ${name}`)
    const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
    if (permit.kind !== 'Granted')
      return finish(seen, now, 'Transient', `the permit ended before step ${index} ${name}`)
    if (!seen.isFresh) return { actions: [], needsFresh: true }
    check(executor, 'Waiting', 'begin', { turn: true, permitGrantedNow: true, recorded: true })
    const bootID = seen.machine?.status?.bootID
    const begun = {
      ...base,
      attempts: base.attempts + 1,
      startedAt: timestamp(now),
      ...(bootID !== undefined && { bootID }),
    }
    return { actions: [], change: { step: begun } }
  }
  if (executor === 'Provider') return rebootStep(seen, now, step, isLate)
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  if (isLate)
    return {
      actions: [],
      change: { step: { ...step, outcome: 'Failed', finishedAt: timestamp(now), output: 'its time is over' } },
    }
  // Cordon, uncordon and a pass of a drain may be repeated: each only asks for what is not so yet. But never without a permit.
  const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
  if (operation.uncordon === undefined && permit.kind !== 'Granted')
    return {
      actions: [],
      change: { step: { ...step, outcome: 'Failed', finishedAt: timestamp(now), output: 'the permit ended' } },
    }
  return { actions: [{ kind: 'DoStep', reason: `step ${index}`, step }], requeueAfter: DRAIN_PASS_MS }
}

/** A reboot is ordered at most once an attempt: by the process that wrote the attempt down, and by no other. */
function rebootStep(seen: Seen, now: number, step: JobStep, isLate: boolean): JobPlan {
  const boot = seen.machine?.status?.bootID
  if (boot !== undefined && step.bootID !== undefined && boot !== step.bootID)
    return {
      actions: [],
      change: {
        step: { ...step, outcome: 'Succeeded', finishedAt: timestamp(now), output: `booted: ${step.bootID} → ${boot}` },
      },
    }
  const operation = seen.job.spec.operations[step.index]
  const timeout = parseDuration(operation?.reboot?.timeout ?? '10m')
  if (isLate || now - Date.parse(step.startedAt ?? '') >= timeout)
    return {
      actions: [],
      change: {
        step: { ...step, outcome: 'Failed', finishedAt: timestamp(now), output: 'no new boot was seen in time' },
      },
    }
  if (!seen.begun.has(`${step.index}/${step.attempts}`))
    return {
      actions: [],
      waiting: {
        predicate: 'WaitingForOther',
        seen: 'the machine has not booted anew',
        unblock: 'the provider reboots it',
      },
      requeueAfter: LOOK_AGAIN_MS,
    }
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  return { actions: [{ kind: 'DoStep', reason: 'the agent is silent', step }], requeueAfter: LOOK_AGAIN_MS }
}

const isUnneeded = (seen: Seen, operation: Operation): boolean =>
  (operation.cordon !== undefined && isCordonedBy(seen.node, cordonOwner(seen.job))) ||
  (operation.uncordon !== undefined && seen.node !== undefined && !isCordonedBy(seen.node, cordonOwner(seen.job)))

/** Held against the table; what it refuses is a bug here. */
function check(
  executor: 'Controller' | 'Provider',
  state: 'Waiting',
  event: 'skip' | 'begin',
  facts: StepFacts,
): { readonly outcome?: 'Skipped' } {
  const step = nextStepState({ executor, state, event, facts, by: 'kubenode-remedyjob' })
  if (!step.ok)
    throw new KubeNodeError(
      'KN4202',
      `cannot ${event} a step: ${JSON.stringify(step.refusal)}; it is looked at again`,
      { retry: 'later' },
    )
  return step.state === 'Skipped' ? { outcome: 'Skipped' } : {}
}
