// Checks of an ID token beyond openid-client's, which covers signature, issuer, audience, nonce and start time. Pure. The API server verifies the token again
// at each use.
import type { IDToken } from 'openid-client'

export interface Expected {
  readonly clientId: string
  /** The user whose token is being replaced. */
  readonly subject?: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Allowed clock difference to issuers. */
export const SKEW_SECONDS = 60
/** More than fits into a request header. */
const MOST_CHARACTERS = 12_288

/** Undefined if the token is acceptable. */
export function problemOf(text: string, claims: IDToken, { clientId, subject, now }: Expected): string | undefined {
  const { azp, sub, exp, iat } = claims
  if (text.length > MOST_CHARACTERS) return 'the token is too long'
  // The package checks this only for tokens with several clients.
  if (azp !== undefined && azp !== clientId) return 'another client asked for the token'
  if (sub === '') return 'the token names no person'
  // A stolen or mixed-up refresh token would turn one user into another.
  if (subject !== undefined && sub !== subject) return 'the token names another person'
  // The package tolerates clock skew at expiry too; the API server does not.
  if (!Number.isFinite(exp) || exp * 1_000 <= now) return 'the token has ended'
  if (iat * 1_000 > now + SKEW_SECONDS * 1_000) return 'the token begins in the future; compare the clocks'
  return undefined
}
