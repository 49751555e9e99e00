// Whether an ID token is one that the issuer made for this console and this sign-in, just now. Pure. The API server checks it again each time that it is used.
import { constants, createPublicKey, type KeyObject, verify, type VerifyKeyObjectInput } from 'node:crypto'
import { isObject } from '#lib/json.ts'

export interface Expected {
  readonly issuer: string
  readonly clientId: string
  /** Of this sign-in; undefined for a token that replaces another one, where issuers may leave it out. */
  readonly nonce: string | undefined
  /** The person whose token is replaced. */
  readonly subject?: string
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface IdToken {
  readonly subject: string
  readonly expiresAt: number
}

export type Judged = { readonly kind: 'Good'; readonly token: IdToken } | { readonly kind: 'Bad'; readonly why: string }

/** Clocks of issuers differ by so much. */
const SKEW_MS = 60_000
/** Larger than any that a header of a request could carry. */
const MOST_CHARACTERS = 12_288
/** Weaker keys of RSA are not accepted. */
const LEAST_RSA_BITS = 2_048
const MOST_KEYS = 64

type Form = Pick<VerifyKeyObjectInput, 'padding' | 'saltLength' | 'dsaEncoding'>
const PSS: Form = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const IEEE: Form = { dsaEncoding: 'ieee-p1363' }

interface Algorithm {
  readonly hash: string | null
  readonly keyType: string
  readonly curve?: string
  readonly form: Form
}

/** Signatures with a public key alone. An algorithm says which key it needs, so that no key is used for another one. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['RS256', { hash: 'sha256', keyType: 'rsa', form: {} }],
  ['RS384', { hash: 'sha384', keyType: 'rsa', form: {} }],
  ['RS512', { hash: 'sha512', keyType: 'rsa', form: {} }],
  ['PS256', { hash: 'sha256', keyType: 'rsa', form: PSS }],
  ['PS384', { hash: 'sha384', keyType: 'rsa', form: PSS }],
  ['PS512', { hash: 'sha512', keyType: 'rsa', form: PSS }],
  ['ES256', { hash: 'sha256', keyType: 'ec', curve: 'prime256v1', form: IEEE }],
  ['ES384', { hash: 'sha384', keyType: 'ec', curve: 'secp384r1', form: IEEE }],
  ['ES512', { hash: 'sha512', keyType: 'ec', curve: 'secp521r1', form: IEEE }],
  ['EdDSA', { hash: null, keyType: 'ed25519', form: {} }],
])

export interface IssuerKey {
  readonly id: string | undefined
  readonly algorithm: string | undefined
  readonly key: KeyObject
}

/** What cannot be used is left out: an issuer may have keys for other things too. */
export function keysIn(jwks: unknown): readonly IssuerKey[] {
  const all: readonly unknown[] = isObject(jwks) && Array.isArray(jwks['keys']) ? jwks['keys'] : []
  return all.slice(0, MOST_KEYS).flatMap((jwk): readonly IssuerKey[] => {
    // One with a secret in it is either symmetric or published by mistake.
    if (!isObject(jwk) || jwk['kty'] === 'oct' || 'd' in jwk || (jwk['use'] ?? 'sig') !== 'sig') return []
    try {
      const key = createPublicKey({ key: jwk, format: 'jwk' })
      const { kid, alg } = jwk
      const named = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
      return [{ id: named(kid), algorithm: named(alg), key }]
    } catch {
      return []
    }
  })
}

/** Whether a newer set of keys could help: the token names a key that is not among these. */
export const isKeyMissing = (token: string, keys: readonly IssuerKey[]): boolean => {
  const id = partOf(token, 0)?.['kid']
  return typeof id === 'string' && !keys.some((k) => k.id === id)
}

const bad = (why: string): Judged => ({ kind: 'Bad', why })

export function judgeIdToken(text: string, keys: readonly IssuerKey[], expected: Expected): Judged {
  if (text.length > MOST_CHARACTERS) return bad('it is too long')
  const parts = text.split('.')
  const [header, claims] = [partOf(text, 0), partOf(text, 1)]
  if (parts.length !== 3 || header === undefined || claims === undefined) return bad('it is no signed token')
  const { alg, kid, crit } = header
  const algorithm = typeof alg === 'string' ? ALGORITHMS.get(alg) : undefined
  if (algorithm === undefined) return bad('its algorithm is not accepted')
  if (crit !== undefined) return bad('it has a critical header that is not known')
  const fit = keys.filter((k) => isFit(k, String(alg), algorithm, kid))
  const signed = Buffer.from(`${parts[0]}.${parts[1]}`)
  const signature = Buffer.from(parts[2] ?? '', 'base64url')
  if (!fit.some(({ key }) => isSigned(signed, signature, key, algorithm))) return bad('no key of the issuer signed it')
  return judgeClaims(claims, expected)
}

function isFit({ id, algorithm, key }: IssuerKey, alg: string, wanted: Algorithm, kid: unknown): boolean {
  if (kid !== undefined && id !== undefined && kid !== id) return false
  if (algorithm !== undefined && algorithm !== alg) return false
  const { asymmetricKeyType, asymmetricKeyDetails } = key
  if (asymmetricKeyType !== wanted.keyType) return false
  if (wanted.keyType === 'rsa') return (asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_RSA_BITS
  return wanted.curve === undefined || asymmetricKeyDetails?.namedCurve === wanted.curve
}

function isSigned(data: Buffer, signature: Buffer, key: KeyObject, { hash, form }: Algorithm): boolean {
  try {
    return verify(hash, data, { key, ...form }, signature)
  } catch {
    return false
  }
}

function judgeClaims(claims: Readonly<Record<string, unknown>>, expected: Expected): Judged {
  const { iss, aud, azp, sub, exp, nbf, iat, nonce } = claims
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (iss !== expected.issuer) return bad('another issuer made it')
  if (!audiences.includes(expected.clientId)) return bad('it is for another client')
  if (audiences.length > 1 && azp !== expected.clientId) return bad('it is for several clients')
  if (azp !== undefined && azp !== expected.clientId) return bad('another client asked for it')
  if (typeof sub !== 'string' || sub === '') return bad('it names no person')
  if (expected.subject !== undefined && sub !== expected.subject) return bad('it names another person')
  if (typeof exp !== 'number' || exp * 1_000 <= expected.now) return bad('it has ended')
  for (const begin of [nbf, iat])
    if (begin !== undefined && (typeof begin !== 'number' || begin * 1_000 > expected.now + SKEW_MS))
      return bad('it begins in the future')
  if (expected.nonce !== undefined ? nonce !== expected.nonce : false) return bad('it belongs to another sign-in')
  return { kind: 'Good', token: { subject: sub, expiresAt: exp * 1_000 } }
}

function partOf(token: string, place: 0 | 1): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(token.split('.')[place] ?? '', 'base64url').toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
