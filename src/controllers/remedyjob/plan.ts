// Decides the next transition of one repair along the job's protocol: request, start, run the central steps, wait for the agent's steps, verify,
// close, clean up.
import type { JobFacts } from '#api/protocol/job.ts'
import { assertNever } from '#lib/errors.ts'
import { findCondition } from '#kube/conditions.ts'
import { renewalOf } from '#permits/holder.ts'
import { isMass } from '#nodes/faults/mass.ts'
import { SUPERSEDED_BY } from '#nodes/faults/superseded.ts'
import { heldUp, permitName, permitOf } from './plan-permit.ts'
import type { JobPlan } from './actions.ts'
import { unsupportedReason } from './steps/operations.ts'
import { planEnd } from './plan-end.ts'
import { planSteps } from './steps/plan-steps.ts'
import { planVerify } from './verify/plan-verify.ts'
import { type Seen, isFrozen, phaseOf, targetOf } from './seen.ts'
import { finish, isStarted, move, wait, waitForHold } from './plan-transitions.ts'
import { heldBy, unwanted } from './plan-holds.ts'
import { dryRunText } from './reporting/dry-run.ts'

/** Do not start a repair that was requested more than a day ago: it may no longer be wanted. */
const MOST_WAITING_MS = 86_400_000
/** How often an unchanged permit or node is checked. */
const REQUEUE_MS = 30_000
/** When other nodes are read again: by chance the sample may have been the few bad ones. */
const ASK_AGAIN_MS = 1_000
/** How soon a job that is not ripe is checked. */
const RIPENING: Pick<JobPlan, 'waiting' | 'requeueAfter'> = {
  waiting: { predicate: 'Progressing', seen: 'checking whether other nodes fail too', unblock: 'the check finishes' },
  requeueAfter: 250,
}

export function plan(seen: Seen, now: number): JobPlan {
  const phase = phaseOf(seen.job)
  switch (phase) {
    case 'Pending':
    case 'AwaitingPermit':
      return planBeginning(seen, now)
    case 'Running':
    case 'Verifying':
      return withPodsEnded(
        seen,
        givenUp(seen, now) ?? withRenewal(seen, now, (phase === 'Running' ? planSteps : planVerify)(seen, now)),
      )
    case 'Done':
      return planEnd(seen, now)
    default:
      return assertNever(phase)
  }
}

/** A pod whose step ends before it, as after a timeout, must not run on a node that takes pods again. */
function withPodsEnded({ job }: Seen, planned: JobPlan): JobPlan {
  const { change } = planned
  const ending = (job.status?.steps ?? []).flatMap(({ index, outcome, pod }) => {
    const isEnding = change?.phase === 'Done' || (change?.step?.index === index && change.step.outcome !== undefined)
    return pod !== undefined && outcome === undefined && isEnding ? [pod] : []
  })
  if (ending.length === 0) return planned
  const ends = ending.map((pod) => ({ kind: 'EndPod', reason: 'its step has ended', pod }) as const)
  return { ...planned, actions: [...planned.actions, ...ends] }
}

function planBeginning(seen: Seen, now: number): JobPlan {
  const { job, node, fault } = seen
  const phase = phaseOf(job)
  const ended = endBefore(seen, now)
  if (ended !== undefined) return ended
  const sameNode = node !== undefined && node.metadata.uid === job.spec.node.uid
  const hold = heldBy(seen, now)
  const facts: JobFacts = {
    faultPresent: fault.kind === 'Present' ? true : fault.kind === 'Unknown' ? undefined : false,
    sameNode,
    mayAct: hold === undefined && !job.spec.dryRun,
  }
  if (hold !== undefined) return heldUp(seen, now, waitForHold(hold))
  if (isFrozen(seen))
    return heldUp(
      seen,
      now,
      wait(
        'HoldFreeze',
        'the node is frozen by a file on it',
        'the file is removed: kubenode thaw --node-folder /var/lib/kubenode',
      ),
    )
  if (seen.maintained !== undefined)
    return heldUp(
      seen,
      now,
      wait('MaintenanceUnderWay', `the cause is known: ${seen.maintained}`, 'the work on the host ends', REQUEUE_MS),
    )
  if (fault.kind === 'Unknown')
    return heldUp(seen, now, wait('SafetyReadingUnknown', fault.why, 'the node reports again'))
  const target = targetOf(seen)
  if (target === undefined)
    return wait('ReferenceMissing', `machine ${job.spec.machine} not found`, 'the Machine exists')
  const held = permitOf(seen, target)
  const request = held.kind === 'Ask' ? held.action : undefined
  const permitRef = permitName(job)
  if (phase === 'Pending')
    return {
      actions: request === undefined ? [] : [request],
      change: { ...move(seen, 'ask', facts), permitRef },
      ...RIPENING,
    }
  if (request?.permit === permitRef) return { actions: [request] }
  if (held.kind === 'Refused') return finish(seen, now, 'Transient', `no permit: ${held.seen}`)
  if (!seen.isRipe) return { actions: [], ...RIPENING }
  if (held.kind === 'Wait' || held.kind === 'AskLater')
    // Explanations of repairs recognize a wait by this predicate, and read the gate from the permit.
    return wait('PermitRequested', held.wait.seen, held.wait.unblock, REQUEUE_MS)
  // What is written here allows actions, so it must rest on the server's data, never on a cache.
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  const { bad, total } = seen.asked
  if (isMass(bad + 1, total + 1)) {
    const text = `${bad} of ${total} other nodes are as bad`
    const againMs = request === undefined ? ASK_AGAIN_MS : REQUEUE_MS
    return heldUp(seen, now, wait('CohortBlamed', text, 'fewer nodes have the fault at the same time', againMs))
  }
  if (request !== undefined) return { actions: [request], change: { permitRef: request.permit } }
  // A repair that starts late starts with a full lease.
  const change = { ...move(seen, 'start', { ...facts, permitGrantedNow: true }), startedAt: now }
  return withRenewal(seen, now, { actions: [], change })
}

/** A user decided that the machine must not be touched, or that this repair is not needed. Started steps finish, and nothing follows. */
function givenUp(seen: Seen, now: number): JobPlan | undefined {
  if (seen.job.status?.steps?.some(isStarted) === true) return undefined
  // Its slot is freed for the removal. A repair that replaces the machine deletes it itself.
  if (seen.machine?.metadata.deletionTimestamp !== undefined && !replaces(seen))
    return finish(seen, now, 'Superseded', 'the Machine is being deleted')
  const why = isObserved(seen) ? ONLY_OBSERVED : unwanted(seen, now)
  if (why !== undefined) return finish(seen, now, 'Cancelled', why)
  // Finished steps are still verified. But no step starts that git no longer declares.
  const changed = phaseOf(seen.job) === 'Running' ? (otherHost(seen) ?? ruleChange(seen)) : undefined
  return changed === undefined ? undefined : finish(seen, now, 'Superseded', changed)
}

/**
 * The permit is for the Machine, and the steps are on the Node. If they are two hosts, budgets and protections would be asked about the wrong one: a job
 * that was written by hand, or a Machine that was created again.
 */
function otherHost({ job, node, machine }: Seen): string | undefined {
  const nodeRef = machine?.status?.nodeRef
  if (nodeRef === undefined || node?.metadata.uid !== job.spec.node.uid || nodeRef.uid === job.spec.node.uid)
    return undefined
  return `machine ${job.spec.machine} is not the host of node ${job.spec.node.name}, but of ${nodeRef.name} (UID ${nodeRef.uid})`
}

/** Why the rule does not want this repair any more. */
const ruleChange = ({ job, fault, outdated }: Seen): string | undefined =>
  fault.kind === 'Gone' ? `rule ${job.spec.remedierRef.name} was deleted` : outdated

const replaces = ({ job }: Seen): boolean => job.spec.operations.some((o) => o.replace !== undefined)

const ONLY_OBSERVED = 'the machine is now observed only'
const isObserved = ({ machine }: Seen): boolean => machine?.spec.channel === 'Observe'

/** Reasons to close the job before anything was done. */
function endBefore(seen: Seen, now: number): JobPlan | undefined {
  const { job, node, fault } = seen
  if (job.spec.dryRun) return finish(seen, now, 'Cancelled', dryRunText(seen))
  const why = unwanted(seen, now)
  if (why !== undefined) return finish(seen, now, 'Cancelled', why)
  if (isObserved(seen)) return finish(seen, now, 'Cancelled', ONLY_OBSERVED)
  if (node === undefined) return finish(seen, now, 'Superseded', `node ${job.spec.node.name} was deleted`)
  if (node.metadata.uid !== job.spec.node.uid)
    return finish(seen, now, 'Superseded', `node ${job.spec.node.name} was created again`)
  const other = otherHost(seen)
  if (other !== undefined) return finish(seen, now, 'Superseded', other)
  if (seen.standing.kind === 'Leaving') return finish(seen, now, 'Superseded', seen.standing.why)
  const by = job.metadata.annotations?.[SUPERSEDED_BY]
  if (by !== undefined) return finish(seen, now, 'Superseded', `rule ${by} acts on this node first`)
  const changed = ruleChange(seen)
  if (changed !== undefined) return finish(seen, now, 'Superseded', changed)
  if (fault.kind === 'Absent') return finish(seen, now, 'Superseded', 'the fault cleared before the repair started')
  const inhibited = findCondition(seen.remedier?.status?.conditions, 'Inhibited')
  // The slot is released at once. If the fault outlasts the inhibition, a new job decides again.
  if (inhibited?.status === 'True') return finish(seen, now, 'Superseded', `inhibited: ${inhibited.message}`)
  const unsupported = unsupportedReason(job, seen.machine)
  if (unsupported !== undefined) return finish(seen, now, 'Permanent', unsupported)
  const createdAt = Date.parse(job.metadata.creationTimestamp ?? '')
  if (now - createdAt > MOST_WAITING_MS) return finish(seen, now, 'Transient', 'the repair could not start within 24h')
  return undefined
}

/** The permit is kept while the job runs. Without it, the Defender would assume that no repair runs. */
function withRenewal(seen: Seen, now: number, planned: JobPlan): JobPlan {
  const renewal = renewalOf(seen.permit, now, 'the job still needs it')
  return renewal.length === 0
    ? { ...planned, requeueAfter: Math.min(planned.requeueAfter ?? REQUEUE_MS, REQUEUE_MS) }
    : { ...planned, actions: [...renewal, ...planned.actions] }
}
