// A host that was given its join token once, with its user data, and has not reported within the life of that token: it never will. Pure.
import { JOIN_TOKEN_SECONDS } from '#identity/token-life.ts'
import { timeOfDay } from '#lib/clock.ts'
import type { Waiting } from './actions.ts'
import { type Seen, hadJoined, hasJoined, nameOf } from './seen.ts'

/** Milliseconds until the token of its host is over, none left when it is; undefined where that says nothing. */
export function untilLateJoin(seen: Seen, now: number): number | undefined {
  const { host, isJoinFixed = false } = seen
  if (!isJoinFixed || host.kind !== 'Host' || hasJoined(seen) || hadJoined(seen)) return undefined
  const createdAt = Date.parse(host.host.createdAt)
  return Number.isNaN(createdAt) ? undefined : Math.max(0, createdAt + JOIN_TOKEN_SECONDS * 1_000 - now)
}

export function lateJoinWait(seen: Seen, now: number): Waiting | undefined {
  if (untilLateJoin(seen, now) !== 0 || seen.host.kind !== 'Host') return undefined
  const { providerID, createdAt } = seen.host.host
  return {
    predicate: 'AgentJoined',
    seen: `host ${providerID} was created at ${timeOfDay(Date.parse(createdAt), now)}, its agent never reported, and its join token has expired`,
    unblock: `the Machine is deleted and its set makes another one (kubectl delete machines.kubenode.io ${nameOf(seen.machine)}); the console of the host shows why it did not join`,
  }
}
