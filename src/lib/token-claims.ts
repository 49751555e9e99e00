// What a JSON web token says of itself. Unverified: for times and hints of tokens whose server checks them, never for a decision about a right.
import { isObject } from './json.ts'

/** Undefined for other forms of tokens. */
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
