// A JSON web token's unverified claims: for times and hints about tokens that their server verifies, never for a decision about a right.
import { isObject } from './json.ts'

/** Undefined for other token formats. */
export function unverifiedClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return isObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

/** Milliseconds since 1970. */
export function unverifiedEnd(token: string): number | undefined {
  const end = unverifiedClaims(token)?.['exp']
  return typeof end === 'number' && Number.isFinite(end) ? end * 1_000 : undefined
}
