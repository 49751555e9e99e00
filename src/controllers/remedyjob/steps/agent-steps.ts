// Decides how long to wait for an agent's step, and what a missing answer means. No slot is kept forever.
import { permitAnswer } from '#permits/permits.ts'
import type { JobPlan } from '../actions.ts'
import { operationName } from '#api/protocol/operations.ts'
import { type Seen, targetOf } from '../seen.ts'
import { endText } from '../plan-acceptance.ts'
import { finish, isStarted, move } from '../plan-transitions.ts'
import type { Turn } from './turn.ts'

/** A restarted agent first reports the result as unknown, and soon after withdraws steps that it never started. */
const UNKNOWN_GRACE_MS = 10_000
const REQUEUE_MS = 15_000
/** Agents enforce the job's timeout on their steps themselves. One that is silent this long afterwards has lost the step or the node. */
const LOST_MS = 15 * 60_000

export function waitForAgent(seen: Seen, now: number, { index, step, isLate, lateMs, operation }: Turn): JobPlan {
  const what = `step ${index} ${operationName(operation)}`
  const waiting = (text: string): JobPlan => ({
    actions: [],
    waiting: { predicate: 'WaitingForOther', seen: text, unblock: 'the agent runs the step and reports' },
    requeueAfter: REQUEUE_MS,
  })
  if (step?.outcome === 'Unknown') {
    const since = now - Date.parse(step.finishedAt ?? '')
    if (since >= 0 && since < UNKNOWN_GRACE_MS)
      return { ...waiting(`the agent does not know the result of ${what}`), requeueAfter: UNKNOWN_GRACE_MS }
    return finish(seen, now, 'Transient', `the result of ${what} is unknown`)
  }
  if (step !== undefined && isStarted(step)) {
    if (lateMs >= LOST_MS) return lost(seen, now, what)
    return waiting(isLate ? `${what} is over its time; the agent has to say how it ended` : `${what} is being done`)
  }
  const permit = permitAnswer(seen.permit, targetOf(seen)?.uid ?? '')
  if (permit.kind === 'Ended' || permit.kind === 'Absent')
    return finish(seen, now, 'Transient', `the permit expired before ${what}`)
  if (isLate) return finish(seen, now, 'Transient', `the agent did not start ${what} in time`)
  return waiting(`${what} is the agent's`)
}

/** The result reported at the end revokes the agent's permit. If the agent returns, it may not continue. */
function lost(seen: Seen, now: number, what: string): JobPlan {
  if (!seen.isFresh) return { actions: [], needsFresh: true }
  const phase = move(seen, 'finish', { outcomeKnown: true, noStepStarted: true })
  const message = endText(seen, `no heartbeat from the agent since it started ${what}`)
  return { actions: [], change: { ...phase, outcome: 'Escalated', message, finishedAt: now } }
}
