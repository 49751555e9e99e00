// What is asked of an ID token beyond openid-client, which checks signature, issuer, audience, nonce and beginning. Pure. The API server checks the token again each time that it is used.
import type { IDToken } from 'openid-client'

export interface Expected {
  readonly clientId: string
  /** The person whose token is replaced. */
  readonly subject?: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Clocks of issuers differ by so much. */
export const SKEW_SECONDS = 60
/** Larger than any that a header of a request could carry. */
const MOST_CHARACTERS = 12_288

/** Undefined: nothing speaks against the token. */
export function problemOf(text: string, claims: IDToken, { clientId, subject, now }: Expected): string | undefined {
  const { azp, sub, exp, iat } = claims
  if (text.length > MOST_CHARACTERS) return 'the token is too long'
  // The package asks only tokens for several clients who asked for them.
  if (azp !== undefined && azp !== clientId) return 'another client asked for the token'
  if (sub === '') return 'the token names no person'
  // A stolen or mixed-up refresh token would make one person another.
  if (subject !== undefined && sub !== subject) return 'the token names another person'
  // The package forgives an end as it forgives a beginning; the API server does not.
  if (!Number.isFinite(exp) || exp * 1_000 <= now) return 'the token has ended'
  if (iat * 1_000 > now + SKEW_SECONDS * 1_000) return 'the token begins in the future; compare the clocks'
  return undefined
}
