// A host gets its join token once, in its user data. If it has not reported within the token's lifetime, it never will. Pure.
import { nameOf } from '#api/schema/object-meta.ts'
import { JOIN_TOKEN_SECONDS } from '#identity/token-life.ts'
import { timeOfDay } from '#lib/clock.ts'
import type { Waiting } from '../actions.ts'
import { type Seen, hadJoined, hasJoined } from '../seen.ts'

/** Milliseconds until its host's token expires, 0 if it has. Undefined if the token's age proves nothing. */
export function untilLateJoin(seen: Seen, now: number): number | undefined {
  const { host, isJoinFixed = false } = seen
  if (!isJoinFixed || host.kind !== 'Host' || hasJoined(seen) || hadJoined(seen)) return undefined
  const createdAt = madeAt(seen, host.host.createdAt, now)
  return Number.isNaN(createdAt) ? undefined : Math.max(0, createdAt + JOIN_TOKEN_SECONDS * 1_000 - now)
}

/** The creation time from the provider, if plausible: after the recorded start of the attempt, and before now. */
function madeAt({ machine }: Seen, recordedAt: string, now: number): number {
  const createdAt = Date.parse(recordedAt)
  const since = Date.parse(machine.status?.provisioning?.since ?? '')
  if (createdAt < since) return since
  return createdAt > now ? (Number.isNaN(since) ? now : since) : createdAt
}

export function lateJoinWait(seen: Seen, now: number): Waiting | undefined {
  if (untilLateJoin(seen, now) !== 0 || seen.host.kind !== 'Host') return undefined
  const { providerID, createdAt } = seen.host.host
  return {
    predicate: 'AgentJoined',
    seen: `host ${providerID} was created at ${timeOfDay(madeAt(seen, createdAt, now), now)}, its agent never reported, and its join token has expired`,
    unblock: `a person deletes the Machine, and its set makes another one (the console of the host shows why it did not join): kubectl delete machines.kubenode.io ${nameOf(seen.machine)}`,
    because: 'JoinExpired',
  }
}
