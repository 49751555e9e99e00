// Decides what is left to do for a finished job: free the slot, remove our cordon, unlist it, and delete the record after a day.
import { FINALIZERS } from '#api/names.ts'
import { parseDuration } from '#lib/duration.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { acceptanceOf } from '#nodes/faults/acceptance.ts'
import { isFencedBy } from '#nodes/fence.ts'
import { reportOf } from '#permits/holder.ts'
import { type TargetResult } from '#permits/permits.ts'
import type { JobAction, JobPlan } from './actions.ts'
import { isForeign } from './plan-permit.ts'
import { listJobs } from './steps/plan-steps.ts'
import { type JobStatus, type Seen, cordonOwner, phaseOf } from './seen.ts'

/** The record of an incident. Until then its job cannot be created a second time. */
const RECORD_MS = 86_400_000

export function planEnd(seen: Seen, now: number): JobPlan {
  const { job } = seen
  const actions: readonly JobAction[] = [
    ...reportResult(seen),
    ...releaseCordon(seen, now),
    ...releaseFence(seen),
    ...unlist(seen),
    ...releaseDevices(seen, now),
  ]
  const untilOver = Date.parse(job.status?.finishedAt ?? '') + RECORD_MS - now
  const healedIn = healedInMs(seen, now)
  const requeueAfter =
    healedIn > 0 && (isCordonedBy(seen.node, cordonOwner(job)) || seen.mayHoldDevices)
      ? Math.min(healedIn, untilOver)
      : untilOver
  if (actions.length > 0) return { actions, requeueAfter: Math.max(0, requeueAfter) }
  if (untilOver > 0) return { actions: [], requeueAfter: Math.max(0, requeueAfter) }
  // The fence is recorded only here, and so is the cordon of a node that no script accepted.
  const owner = cordonOwner(job)
  if (
    isFencedBy(seen.node, owner) ||
    (isCordonedBy(seen.node, owner) && acceptanceOf(job, seen.others).kind === 'Missing')
  )
    return { actions: [], requeueAfter: RECORD_MS }
  const reason = 'finished more than a day ago'
  if (job.metadata.deletionTimestamp === undefined) return { actions: [{ kind: 'DeleteRecord', reason }] }
  return {
    actions: job.metadata.finalizers?.includes(FINALIZERS.job) === true ? [{ kind: 'ReleaseRecord', reason }] : [],
  }
}

const RESULTS: Readonly<Record<NonNullable<JobStatus['outcome']>, TargetResult>> = {
  Succeeded: 'Succeeded',
  Escalated: 'Failed',
  Transient: 'Failed',
  Permanent: 'Failed',
  Superseded: 'Released',
  Cancelled: 'Released',
}

/** If the Machine was deleted, its target is still the one in the permit. */
function reportResult({ permit, job }: Seen): readonly JobAction[] {
  if (permit !== undefined && isForeign(permit, job)) return []
  const wasDone = job.status?.startedAt !== undefined
  const result = wasDone ? RESULTS[job.status?.outcome ?? 'Permanent'] : 'Released'
  return reportOf(permit, permit?.spec.targets[0]?.uid ?? '', result, `the job finished: ${job.status?.outcome}`)
}

/** If a rung did not help, the next one keeps the cordon, until the fault clears or the record is deleted. */
function releaseCordon(seen: Seen, now: number): readonly JobAction[] {
  const { job, node, others } = seen
  const owner = cordonOwner(job)
  if (node?.metadata.uid !== job.spec.node.uid || !isCordonedBy(node, owner)) return []
  const ofIncident = others.filter((j) => j.spec.incident === job.spec.incident)
  if (ofIncident.some((j) => phaseOf(j) !== 'Done')) return []
  // The cordon of a fenced node stays until the node is back.
  return !isFencedBy(node, owner) && isGivenBack(seen, now, ofIncident) ? [releaseOf(seen)] : []
}

/** Devices stay isolated as long as a node would stay cordoned, also if that node is replaced. */
function releaseDevices(seen: Seen, now: number): readonly JobAction[] {
  const { job, others, mayHoldDevices } = seen
  const { incident } = job.spec
  const ofIncident = others.filter((j) => j.spec.incident === incident)
  if (!mayHoldDevices || ofIncident.some((j) => phaseOf(j) !== 'Done') || !isGivenBack(seen, now, ofIncident)) return []
  return [{ kind: 'ReleaseDevices', reason: `the job finished: ${job.status?.outcome}`, incident }]
}

/** Whether pods may use again what the repair kept them from. */
function isGivenBack(seen: Seen, now: number, ofIncident: readonly Seen['job'][]): boolean {
  const { job, others } = seen
  const acceptance = acceptanceOf(job, others).kind
  if (acceptance === 'Missing') return isHandedBack(seen)
  // A person decided. Other claims on the cordon of this node stay.
  if (acceptance === 'GivenBack') return true
  const outcome = job.status?.outcome
  const isOver = now >= Date.parse(job.status?.finishedAt ?? '') + RECORD_MS && ofIncident.length === 0
  const isGood = outcome === 'Succeeded' || outcome === 'Superseded' || outcome === 'Cancelled'
  return isGood || isOver || isHandedBack(seen) || healedInMs(seen, now) <= 0
}

const releaseOf = ({ job }: Seen): JobAction => ({
  kind: 'ReleaseCordon',
  reason: `the job finished: ${job.status?.outcome}`,
  owner: cordonOwner(job),
})

/** Nothing of KubeNode stays on the Node of a host that was handed back. */
const isHandedBack = ({ job, machine }: Seen): boolean => job.spec.machine !== undefined && machine === undefined

/** Time until the fault has been absent long enough, if nothing changes. An idle kubelet reports its node only every five minutes. */
const healedInMs = ({ job, cleared }: Seen, now: number): number =>
  cleared.kind === 'Absent' && cleared.since !== undefined
    ? cleared.since + parseDuration(job.spec.stableFor) - now
    : Infinity

/** A node that reports again is no longer off. Until then it must stay fenced. */
function releaseFence({ job, node, standing, others }: Seen): readonly JobAction[] {
  const owner = cordonOwner(job)
  const isOfIncident = others.some((j) => j.spec.incident === job.spec.incident && phaseOf(j) !== 'Done')
  if (node?.metadata.uid !== job.spec.node.uid || !isFencedBy(node, owner) || isOfIncident) return []
  return standing.kind === 'Readable' ? [{ kind: 'ReleaseFence', reason: 'the node is back', owner }] : []
}

const unlist = (seen: Seen): readonly JobAction[] =>
  seen.machine?.spec.jobs?.includes(seen.job.metadata.name ?? '') === true ? listJobs(seen) : []
