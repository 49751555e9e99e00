// Whether the token of a service-account agent is replaced in time. Measured from when it was received, because the host's clock may be wrong. Pure.
import { LONGEST_TOKEN_SECONDS } from '#identity/token-life.ts'
import { timestamp } from '#lib/clock.ts'
import { unverifiedClaims } from '#lib/token-claims.ts'
import type { Condition } from '#api/schema/object.ts'

export interface HeldToken {
  readonly token: string
  /** When the token was received: on the monotonic clock, and on the wall clock. */
  readonly sinceMs: number
  readonly receivedAt: number
}

/** The approver replaces a token at a quarter of its lifetime, and the agent gets the next one after a third. */
const LATE_SHARE = 0.5

/** Condition for the Machine; undefined while tokens are replaced in time. Reported with the token that still works. */
export function tokenCondition(held: HeldToken, monotonicMs: number): Condition | undefined {
  const { issued, expires } = timesOf(held.token)
  const lateAfterMs = (expires - issued) * 1_000 * LATE_SHARE
  if (monotonicMs - held.sinceMs < lateAfterMs) return undefined
  return {
    type: 'TokenExpiring',
    status: 'True',
    reason: 'TokenNotReplaced',
    message: `the token of its agent was not replaced in time and expires at ${shown(expires)}, after which the agent is silent until there is a new one; check that the approver runs`,
    lastTransitionTime: timestamp(held.receivedAt + lateAfterMs),
  }
}

const shown = (seconds: number): string =>
  seconds > LONGEST_TOKEN_SECONDS
    ? timestamp(seconds * 1_000)
        .replace('T', ' ')
        .replace('Z', ' UTC')
    : 'an unknown time'

/** In seconds. Without times in the token, assumes the longest token lifetime. It is the agent's own token, and only this warning depends on it. */
function timesOf(token: string): { readonly issued: number; readonly expires: number } {
  const { iat, exp } = unverifiedClaims(token) ?? {}
  return typeof iat === 'number' && typeof exp === 'number' && exp > iat
    ? { issued: iat, expires: exp }
    : { issued: 0, expires: LONGEST_TOKEN_SECONDS }
}
