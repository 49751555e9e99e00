// The single signed, expiring document that lists whose components may run: keys with a threshold, revoked digests, version floors. It only moves forward: an
// older sequence is refused, and the current document's keys sign the next one.
import { canonicalJson, isObject } from '#lib/json.ts'
import { compareVersions, parseVersion } from '#lib/semver.ts'
import { signersOf } from './keys.ts'
import type { PublicKey, Signature } from './keys.ts'

export interface TrustDocument {
  readonly sequence: number
  /** RFC 3339; after it nothing new is installed. Running components keep running. */
  readonly expires: string
  readonly threshold: number
  readonly keys: readonly PublicKey[]
  /** SHA-256 digests of artifacts that may no longer be installed. */
  readonly revoked: readonly string[]
  /** Lowest version of each component that may be installed. */
  readonly floors: Readonly<Record<string, string>>
}

export interface SignedTrust {
  readonly document: TrustDocument
  readonly signatures: readonly Signature[]
}

/** What an agent gets at join and keeps: the keys that may sign the next document. */
export interface TrustAnchor {
  readonly sequence: number
  readonly threshold: number
  readonly keys: readonly PublicKey[]
}

export type TrustVerdict =
  | { readonly kind: 'Accepted'; readonly trust: TrustDocument }
  | { readonly kind: 'Refused'; readonly reason: string }

/** Agents do not fetch a larger document. */
export const MAX_TRUST_BYTES = 1024 * 1024
const MAX_KEYS = 32
const MAX_REVOKED = 4096
const MAX_FLOORS = 1024

export const trustBytes = (document: TrustDocument): Buffer => Buffer.from(canonicalJson(document))

const refused = (reason: string): TrustVerdict => ({ kind: 'Refused', reason })

/**
 * The required and the actual signers by key id, a few of each, since the text is part of a status. Called only if too few signatures are valid: a trusted key
 * that is not among the `signers` did not sign these bytes.
 */
export function signersText(
  trusted: readonly PublicKey[],
  signatures: readonly Signature[],
  signers: ReadonlySet<string>,
): string {
  const isWrong = ({ keyId }: Signature) => trusted.some((k) => k.keyId === keyId && !signers.has(k.publicKey))
  const ids = signatures.map(
    (s) => `${s.keyId.slice(0, MOST_ID_CHARS)}${isWrong(s) ? ' (does not match the content)' : ''}`,
  )
  return `trusted keys ${few(trusted.map((k) => k.keyId.slice(0, MOST_ID_CHARS)))}; signatures by ${few(ids)}`
}

const few = (all: readonly string[]): string =>
  all.length === 0 ? 'none' : [...all.slice(0, MOST_NAMED), ...(all.length > MOST_NAMED ? ['…'] : [])].join(', ')

const MOST_NAMED = 3
const MOST_ID_CHARS = 16

const isKey = (k: unknown): k is PublicKey =>
  isObject(k) && typeof k['keyId'] === 'string' && typeof k['publicKey'] === 'string'
const isTextList = (v: unknown, max: number): v is readonly string[] =>
  Array.isArray(v) && v.length <= max && v.every((x) => typeof x === 'string')

/** Checks the shape of an untrusted value; undefined if it is not a trust document. */
export function parseSignedTrust(value: unknown): SignedTrust | undefined {
  if (!isObject(value) || !isObject(value['document']) || !Array.isArray(value['signatures'])) return undefined
  const { sequence, expires, threshold, keys, revoked, floors } = value['document']
  const isGood =
    Number.isSafeInteger(sequence) &&
    typeof expires === 'string' &&
    Number.isFinite(Date.parse(expires)) &&
    Number.isSafeInteger(threshold) &&
    Array.isArray(keys) &&
    keys.length <= MAX_KEYS &&
    keys.every(isKey) &&
    isTextList(revoked, MAX_REVOKED) &&
    isObject(floors) &&
    isTextList(Object.values(floors), MAX_FLOORS)
  const signed = value['signatures'].every(
    (s) => isObject(s) && typeof s['keyId'] === 'string' && typeof s['value'] === 'string',
  )
  return isGood && signed ? (value as unknown as SignedTrust) : undefined
}

/** Whether a document may replace the current one. `now` is wall time: an agent with a wrong clock refuses, it never accepts more. */
export function judgeTrust(anchor: TrustAnchor, candidate: unknown, now: number): TrustVerdict {
  const signed = parseSignedTrust(candidate)
  if (signed === undefined) return refused('it is not a trust document')
  const { document, signatures } = signed
  if (document.sequence < anchor.sequence) {
    return refused(`its sequence ${document.sequence} is older than ${anchor.sequence}, which was accepted before`)
  }
  if (Date.parse(document.expires) <= now) return refused(`it expired at ${document.expires}`)
  if (document.threshold < 1 || new Set(document.keys.map((k) => k.publicKey)).size < document.threshold) {
    return refused(`its threshold ${document.threshold} cannot be met by its keys`)
  }
  const signers = signersOf(trustBytes(document), signatures, anchor.keys)
  if (signers.size < anchor.threshold) {
    const required = `${anchor.threshold} required keys of sequence ${anchor.sequence}`
    return refused(`signed by ${signers.size} of ${required}: ${signersText(anchor.keys, signatures, signers)}`)
  }
  return { kind: 'Accepted', trust: document }
}

export const anchorOf = ({ sequence, threshold, keys }: TrustDocument): TrustAnchor => ({ sequence, threshold, keys })

/** Why this version must not be installed; undefined if the floor allows it. A version that cannot be compared is refused. */
export function floorProblem(
  trust: Pick<TrustDocument, 'floors'>,
  component: string,
  version: string,
): string | undefined {
  const floor = Object.hasOwn(trust.floors, component) ? trust.floors[component] : undefined
  if (floor === undefined) return undefined
  const [have, least] = [parseVersion(version), parseVersion(floor)]
  if (have === undefined || least === undefined)
    return `${component} ${version} cannot be compared with the floor ${floor}`
  return compareVersions(have, least) < 0 ? `${component} ${version} is below the floor ${floor}` : undefined
}
