// Decides whether a repair helped: the fault must be observed absent without a break for as long as the rung requires. Unknown is not absent.
import { findCondition } from '#kube/conditions.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { timestamp } from '#lib/clock.ts'
import type { JobPlan } from '../actions.ts'
import type { Seen } from '../seen.ts'
import { finish, wait } from '../plan-transitions.ts'

/** The slowest detectors report once a minute. Until then, a fault that still shows proves nothing about the repair. */
const DETECTOR_MS = 60_000
const REQUEUE_MS = 15_000

export function planVerify(seen: Seen, now: number): JobPlan {
  const { job, cleared } = seen
  if (job.spec.operations.some((o) => o.replace !== undefined)) return untilReplaced(seen, now)
  const stableMs = parseDuration(job.spec.stableFor)
  const beganAt = Date.parse(findCondition(job.status?.conditions, 'FaultCleared')?.lastTransitionTime ?? '') || now
  const deadline = beganAt + Math.max(stableMs, DETECTOR_MS)
  const recorded = job.status?.verifyUntil
  if (cleared.kind === 'Gone') return finish(seen, now, 'Superseded', `rule ${job.spec.remedierRef.name} was deleted`)
  // If the host is still ours, its Node may register again. If its Machine is deleted, the Node does not return.
  if (job.spec.machine !== undefined && seen.machine === undefined && seen.node === undefined)
    return finish(seen, now, 'Superseded', `machine ${job.spec.machine} was deleted with its Node`)
  if (cleared.kind === 'Unknown') {
    if (now > deadline + parseDuration(job.spec.timeout))
      return finish(seen, now, 'Transient', `cannot verify the repair: ${cleared.why}`)
    return away(null, cleared.why, 'the node reports again')
  }
  if (cleared.kind === 'Present') {
    if (now > deadline)
      return finish(seen, now, 'Escalated', `the fault is still present after ${formatDuration(now - beganAt)}`)
    return away(null, 'the fault is still reported', 'the fault clears', deadline - now + 1)
  }
  const noted = recorded === undefined ? now : Date.parse(recorded) - stableMs
  // A recorded time shows that a fault came and went unnoticed. The start of the verification comes from our own clock.
  const since = Math.max(cleared.since ?? noted, beganAt)
  const until = since + stableMs
  if (now >= until) return finish(seen, now, 'Succeeded', `no fault for ${formatDuration(now - since)}`)
  return away(
    until,
    `no fault since ${timestamp(since)}`,
    `the fault has not returned for ${job.spec.stableFor}`,
    until - now,
  )

  function away(verifyUntil: number | null, text: string, unblock: string, requeueAfter = REQUEUE_MS): JobPlan {
    return {
      actions: [],
      change: { verifyUntil },
      // Only the deadline shows whether it failed.
      waiting: { predicate: 'Progressing', seen: text, unblock },
      requeueAfter,
    }
  }
}

/**
 * The node no longer exists: the fault ended with the machine. The permit is kept until the machine is deleted, for the controller that deletes it.
 */
function untilReplaced(seen: Seen, now: number): JobPlan {
  const { job, machine, permit } = seen
  const isReplaced = machine === undefined || permit?.spec.targets.some((t) => t.uid === machine.metadata.uid) === false
  if (isReplaced)
    return finish(seen, now, 'Succeeded', `machine ${job.spec.machine} was deleted; its set creates a replacement`)
  return wait('WaitingForOther', `machine ${job.spec.machine} is being removed`, 'the machine is deleted', REQUEUE_MS)
}
