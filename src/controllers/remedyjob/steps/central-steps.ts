// Decides about a step that the controller or a provider does: skip, begin, do, wait, give up.
import { type StepFacts, nextStepState } from '#api/protocol/job.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { type DrainScope, drainScope } from '#nodes/device-users.ts'
import { acceptanceOf } from '#nodes/faults/acceptance.ts'
import { whyNoRescue } from '#nodes/faults/rescue.ts'
import { isFencedBy } from '#nodes/fence.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { JobPlan } from '../actions.ts'
import { type Operation, operationFacts, operationName } from '#api/protocol/operations.ts'
import { type JobStep, type Seen, cordonOwner, isFrozen, needsRescue, targetOf } from '../seen.ts'
import { MAX_OUTPUT, outputEnd } from './step-output.ts'
import { NOT_ACCEPTED } from '../plan-acceptance.ts'
import { finish, isStarted } from '../plan-transitions.ts'
import type { Turn } from './turn.ts'
import { unwanted } from '../plan-holds.ts'
import { remedyjobErrors } from '../remedyjob-errors.ts'

const REQUEUE_MS = 15_000
/** The interval between passes of a step, unless the step sets its own. */
const PASS_MS = 2_000

export interface CentralTurn extends Turn {
  readonly executor: 'Controller' | 'Provider'
  /** The agent started it and has been silent since. */
  readonly isTakenOver?: boolean
}

export function centralStep(seen: Seen, now: number, turn: CentralTurn): JobPlan {
  const { index, step, operation, isTakenOver = false } = turn
  const name = operationName(operation)
  if (name === undefined) return finish(seen, now, 'Permanent', `step ${index} is not supported by this version`)
  if (step === undefined || isTakenOver || !isStarted(step)) return beginning(seen, now, turn, name)
  if (isReplaced(seen, operation)) return ended(step, now, 'Succeeded', 'the machine is being deleted')
  if (turn.executor === 'Provider') return rebootStep(seen, now, turn, step)
  if (isForbidden(seen, operation) && !turn.isLate) return byFile(turn)
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  if (turn.isLate || isOver(operation, step, now)) return ended(step, now, 'Failed', timedOut(step))
  // A reboot that was ordered can no longer be called back.
  const why = limitOf(operation) === undefined || step.verb === 'Reboot' ? undefined : unwanted(seen, now)
  if (why !== undefined) return ended(step, now, 'Failed', `aborted: ${why}`)
  // Most steps can be repeated: each pass only requests what is still missing. But never without a permit.
  const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
  if (operationFacts(operation)?.givesBack !== true && permit.kind !== 'Granted')
    return ended(step, now, 'Failed', 'the permit expired')
  if (operationFacts(operation)?.isSafeToRepeat !== true && !isOurs(seen, step))
    return ended(step, now, unsent(operation), 'unknown whether the request was sent')
  return { actions: [{ kind: 'DoStep', reason: `step ${index}`, step }], ...goingOn(turn, step), requeueAfter: PASS_MS }
}

/** The output of the last pass is shown as the wait, including whose budget blocks the drain. */
function goingOn(
  { index, operation }: CentralTurn,
  { operation: name, output = '', scope }: JobStep,
): Pick<JobPlan, 'waiting'> {
  if (output === '') return {}
  const { drain } = operation
  const limit = limitOf(operation)
  const unblock =
    drain === undefined
      ? `the step finishes${limit === undefined ? '' : `; aborted after ${limit}`}`
      : `the pods have left the node; aborted after ${drain.timeout}`
  const now = output.slice(output.lastIndexOf('\n') + 1)
  return {
    waiting: {
      predicate: 'WaitingForOther',
      seen: `step ${index} ${name}${scope === undefined ? '' : ` ${scope}`}: ${now}`,
      unblock,
    },
  }
}

function beginning(seen: Seen, now: number, turn: CentralTurn, name: JobStep['operation']): JobPlan {
  const { index, step, operation, executor, isLate, isTakenOver = false } = turn
  const base = { index, operation: name, executor, attempts: step?.attempts ?? 0 }
  if (step?.outcome === 'Unknown')
    return finish(seen, now, 'Transient', `the result of step ${index} ${name} is unknown`)
  const unneeded = whyUnneeded(seen, operation)
  if (unneeded !== undefined)
    return {
      actions: [],
      change: {
        step: {
          ...base,
          ...check(executor, 'Waiting', 'skip', { turn: true, unneeded: true }),
          finishedAt: timestamp(now),
          output: unneeded,
        },
      },
    }
  if (isForbidden(seen, operation) && !isLate) return byFile(turn)
  if (isLate && !isTakenOver) return finish(seen, now, 'Transient', `timed out before step ${index} ${name}`)
  const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
  if (permit.kind !== 'Granted' && isTakenOver)
    return waiting('no heartbeat from the agent since it started to reboot', 'a permit is granted')
  if (permit.kind !== 'Granted')
    return finish(seen, now, 'Transient', `the permit expired before step ${index} ${name}`)
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  // A second reboot order does not harm a silent machine.
  if (isTakenOver) check(executor, 'Unknown', 'begin', { safeToRepeat: true, permitGrantedNow: true, recorded: true })
  else check(executor, 'Waiting', 'begin', { turn: true, permitGrantedNow: true, recorded: true })
  const bootID = step?.bootID ?? seen.machine?.status?.bootID
  const begun = {
    ...base,
    attempts: base.attempts + 1,
    startedAt: timestamp(now),
    ...defined({ bootID }),
    ...(operation.drain?.usersOf !== undefined &&
      recordedScope(drainScope({ ...seen, verify: verifyOf(seen) }, index))),
  }
  return { actions: [], change: { step: begun } }
}

const verifyOf = ({ job, remedier }: Seen) => remedier?.spec.ladder[job.spec.rung]?.verify

/** Decided once: a condition that clears in the middle of the drain must not widen it. */
const recordedScope = ({ text, faulty }: DrainScope): Pick<JobStep, 'scope' | 'faulty'> => ({
  scope: text,
  ...defined({ faulty }),
})

const timedOut = ({ output }: JobStep): string =>
  output === undefined ? 'timed out' : `timed out: ${outputEnd(output, MAX_OUTPUT - 'timed out: '.length)}`

/** A repair does not depend on its report to the vendor: a controller restart at that moment must not cost it an attempt. */
const unsent = ({ reportFault }: Operation): 'Skipped' | 'Failed' => (reportFault === undefined ? 'Failed' : 'Skipped')

const ended = (step: JobStep, now: number, outcome: 'Succeeded' | 'Failed' | 'Skipped', output: string): JobPlan => ({
  actions: [],
  change: { step: { ...step, outcome, finishedAt: timestamp(now), output } },
})

const waiting = (text: string, unblock: string): JobPlan => ({
  actions: [],
  waiting: { predicate: 'WaitingForOther', seen: text, unblock },
  requeueAfter: REQUEUE_MS,
})

/**
 * The file on the node also stops components that disrupt it without asking its agent. A step that has started stops there, and its timeout keeps
 * running.
 */
const isForbidden = (seen: Seen, operation: Operation): boolean =>
  isFrozen(seen) && (operationFacts(operation)?.disruptions.length ?? 0) > 0

const byFile = ({ index, operation }: CentralTurn): JobPlan => ({
  actions: [],
  waiting: {
    predicate: 'HoldFreeze',
    seen: `the node is frozen by a file on it; step ${index} ${operationName(operation)} not started`,
    unblock: 'a person removes the file on the host: kubenode thaw --node-folder /var/lib/kubenode',
  },
  requeueAfter: REQUEUE_MS,
})

/** Its own timeout, within that of the job. */
const limitOf = ({ drain, rescue, rescueReboot }: Operation): string | undefined =>
  (drain ?? rescue ?? rescueReboot)?.timeout

function isOver(operation: Operation, { startedAt }: JobStep, now: number): boolean {
  const limit = limitOf(operation)
  return limit !== undefined && now - Date.parse(startedAt ?? '') >= parseDuration(limit)
}

/** Some client is deleting its Machine: the replace step has reached its goal. */
const isReplaced = ({ machine, permit }: Seen, { replace }: Operation): boolean =>
  replace !== undefined &&
  (machine === undefined ||
    machine.metadata.deletionTimestamp !== undefined ||
    permit?.spec.targets.some((t) => t.uid === machine.metadata.uid) === false)

const isOurs = (seen: Seen, step: JobStep): boolean => seen.begun.has(`${step.index}/${step.attempts}`)

/** A reboot is ordered at most once per attempt, and only by the process that recorded the attempt. */
function rebootStep(seen: Seen, now: number, { isLate, operation }: Turn, step: JobStep): JobPlan {
  const boot = seen.machine?.status?.bootID
  if (boot !== undefined && step.bootID !== undefined && boot !== step.bootID)
    return ended(step, now, 'Succeeded', `booted: ${step.bootID} → ${boot}`)
  const timeout = parseDuration(operation.reboot?.timeout ?? '10m')
  const isSpent = now - Date.parse(step.startedAt ?? '') >= timeout
  // A step taken over from an agent starts late in the job's time, so it has its own timeout.
  if (isSpent || (isLate && step.attempts < 2)) return ended(step, now, 'Failed', 'the machine did not reboot in time')
  if (!isOurs(seen, step)) return waiting('the machine has not rebooted', 'the provider reboots the machine')
  if (isFrozen(seen))
    return waiting(
      'the node is frozen by a file on it',
      'a person removes the file on the host: kubenode thaw --node-folder /var/lib/kubenode',
    )
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  if (permitAnswer(seen.permit, targetOf(seen)?.uid ?? '').kind !== 'Granted')
    return ended(step, now, 'Failed', 'the permit expired')
  return { actions: [{ kind: 'DoStep', reason: 'no heartbeat from the agent', step }], requeueAfter: REQUEUE_MS }
}

/** Why the step has nothing to do. Undefined if it must run. */
function whyUnneeded(
  seen: Seen,
  { cordon, uncordon, fence, drain, reportFault, rescue, rescueReboot }: Operation,
): string | undefined {
  const { node, job, others, hasPods } = seen
  const owner = cordonOwner(job)
  if (cordon !== undefined && isCordonedBy(node, owner)) return 'already cordoned for this repair'
  if (uncordon !== undefined && node !== undefined && !isCordonedBy(node, owner)) return 'not cordoned for this repair'
  if (uncordon !== undefined && acceptanceOf(job, others).kind === 'Missing') return NOT_ACCEPTED
  if (fence !== undefined && isFencedBy(node, owner)) return 'already fenced for this repair'
  if (drain !== undefined && hasPods === false) return 'no pods to evict'
  if (reportFault !== undefined && isReported(seen)) return 'already reported for this incident'
  if ((rescue ?? rescueReboot) !== undefined)
    return whyNoRescue(seen.machine) ?? (needsRescue(seen) ? undefined : 'the agent is not known to be silent')
  return undefined
}

/** A started report may have been sent. The vendor gets one report per incident, whatever rungs and retries follow. */
const isReported = ({ job, others }: Seen): boolean =>
  [job, ...others.filter((o) => o.spec.incident === job.spec.incident)].some((o) =>
    o.status?.steps?.some((s) => s.operation === 'reportFault' && s.startedAt !== undefined),
  )

/** Checked against the table. A refused transition is a bug here. */
function check(
  executor: 'Controller' | 'Provider',
  state: 'Waiting' | 'Unknown',
  event: 'skip' | 'begin',
  facts: StepFacts,
): { readonly outcome?: 'Skipped' } {
  const step = nextStepState({ executor, state, event, facts, by: 'kubenode-remedyjob' })
  if (!step.ok)
    throw new KubeNodeError(remedyjobErrors.KN3001_step({ event, refusal: JSON.stringify(step.refusal) }), {
      retry: 'later',
    })
  return step.state === 'Skipped' ? { outcome: 'Skipped' } : {}
}
