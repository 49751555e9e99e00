// An OpenPGP certificate (gpg --armor --export) and its signing keys: only what its own primary key states, and only with hashes that still count. A
// block from a key server may contain additions: other people's signatures are ignored, but revocations always count.
import type {
  AnyKeyPacket,
  AnyPacket,
  enums as Enums,
  SignaturePacket,
  UserAttributePacket,
  UserIDPacket,
} from 'openpgp'
import { defined } from '#lib/defined.ts'
import { Malformed } from '../ssh-wire.ts'
import {
  type Covered,
  isSignedBy,
  isUnread,
  keyWeakness,
  openpgp,
  packetsIn,
  PGP_KEY,
  type Unread,
  weaknessOf,
} from './packets.ts'

export interface PgpSigningKey {
  /** FINGERPRINT, or PRIMARY/SUBKEY; the key's name in policies. */
  readonly name: string
  readonly fingerprint: string
  readonly key: AnyKeyPacket
  /** The key may not be used from this time on. */
  readonly until?: number
}

export interface PgpCertificate {
  readonly fingerprint: string
  /** Signing keys, including revoked ones. */
  readonly keys: readonly PgpSigningKey[]
  /** Fingerprints that the certificate itself revokes. */
  readonly revoked: readonly string[]
}

const SIGNATURE = 2
const SECRET: ReadonlySet<number> = new Set([5, 7])
const PRIMARY = 6
const USER_ID = 13
const SUBKEY = 14
const ATTRIBUTE = 17

const POSITIVE_FROM = 0x10
const POSITIVE_TO = 0x13
const DIRECT = 0x1f
const BINDING = 0x18
const BACK = 0x19
const KEY_REVOKED = 0x20
const SUBKEY_REVOKED = 0x28
const REVOCATIONS: ReadonlySet<number> = new Set([KEY_REVOKED, SUBKEY_REVOKED])
const MAY_SIGN = 0x02

/** A key, a user or a subkey, with the signatures that follow it. */
interface Section {
  readonly tag: number
  readonly packet: AnyPacket | Unread
  readonly signatures: SignaturePacket[]
}

/** Throws Malformed when it is not a certificate, or none of its keys may sign commits. */
export async function parseCertificate(armored: string): Promise<PgpCertificate> {
  const [first, ...rest] = sectionsOf(await packetsIn(armored, PGP_KEY))
  if (first?.tag !== PRIMARY || isUnread(first.packet)) throw new Malformed('begins with no public key that is known')
  if (rest.some((s) => s.tag === PRIMARY)) throw new Malformed('has several keys; write each into an entry of its own')
  const primary = first.packet as AnyKeyPacket
  const weakness = keyWeakness(primary)
  if (weakness !== undefined) throw new Malformed(weakness)
  const own = await ownSignatures(primary, first, rest)
  const newest = newestOf(own)
  if (newest === undefined)
    throw new Malformed('is not signed by itself with SHA-256 or longer; gpg --quick-set-expire does so')
  const end = endOf(primary, newest)
  const revocations = await revocationsIn(primary, [first, ...rest])
  const subkeys = (await Promise.all(rest.map((s) => subkeyOf(primary, s)))).filter((s) => s !== undefined)
  const fingerprint = fingerprintOf(primary)
  const mayPrimary = newest.keyFlags === null || mayBeFor(newest, MAY_SIGN)
  const keys = [
    ...(mayPrimary ? [{ name: fingerprint, fingerprint, key: primary, ...defined({ until: end }) }] : []),
    ...subkeys.map(({ key, until }) => ({
      name: `${fingerprint}/${fingerprintOf(key)}`,
      fingerprint: fingerprintOf(key),
      key,
      ...defined({ until: soonest(until, end) }),
    })),
  ]
  if (keys.length === 0) throw new Malformed('has no key that may sign')
  const revoked = subkeys.map(({ key }) => fingerprintOf(key)).filter((one) => revocations.subkeys.has(one))
  return { fingerprint, keys, revoked: revocations.isWhole ? [fingerprint, ...revoked] : revoked }
}

const fingerprintOf = (key: AnyKeyPacket): string => key.getFingerprint().toUpperCase()

function sectionsOf(packets: readonly (AnyPacket | Unread)[]): readonly Section[] {
  const sections: Section[] = []
  for (const packet of packets) {
    const tag = isUnread(packet) ? packet.tag : (packet.constructor as unknown as { readonly tag: number }).tag
    if (SECRET.has(tag)) throw new Malformed('holds a secret key')
    if (tag !== SIGNATURE) sections.push({ tag, packet, signatures: [] })
    else if (isUnread(packet)) requireNoRevocation(packet)
    else {
      const last = sections.at(-1)
      if (last === undefined) throw new Malformed('begins with a signature')
      last.signatures.push(packet as SignaturePacket)
    }
  }
  return sections
}

/** In older packet versions the type is one byte later. */
function requireNoRevocation({ rawContent }: Unread): void {
  if (REVOCATIONS.has(rawContent[rawContent[0] === 4 ? 1 : 2] ?? 0)) throw unverified()
}

const newestOf = (signatures: readonly SignaturePacket[]): SignaturePacket | undefined =>
  signatures.toSorted((a, b) => Number(b.created) - Number(a.created))[0]

const mayBeFor = ({ keyFlags }: SignaturePacket, flag: number): boolean => ((keyFlags?.[0] ?? 0) & flag) !== 0

/** Valid signatures by the key over it, of the given types, with a hash that counts. */
async function goodOf(
  signatures: readonly SignaturePacket[],
  key: AnyKeyPacket,
  isType: (type: number) => boolean,
  covered: Covered,
): Promise<readonly SignaturePacket[]> {
  const good: SignaturePacket[] = []
  for (const signature of signatures) {
    const { signatureType } = signature
    if (signatureType === null || !isType(signatureType) || weaknessOf(signature) !== undefined) continue
    if (await isSignedBy(key, signature, signatureType, covered)) good.push(signature)
  }
  return good
}

/** The primary key's self-signatures over its user ids, or its direct-key signatures if it has none. */
async function ownSignatures(
  primary: AnyKeyPacket,
  first: Section,
  rest: readonly Section[],
): Promise<readonly SignaturePacket[]> {
  const ofUsers: SignaturePacket[] = []
  for (const { tag, packet, signatures } of rest) {
    if (isUnread(packet) || (tag !== USER_ID && tag !== ATTRIBUTE)) continue
    const isUser = (type: number) => type >= POSITIVE_FROM && type <= POSITIVE_TO
    const who =
      tag === USER_ID
        ? { userID: packet as UserIDPacket, userAttribute: null }
        : { userID: null, userAttribute: packet as UserAttributePacket }
    ofUsers.push(...(await goodOf(signatures, primary, isUser, { key: primary, ...who })))
  }
  if (ofUsers.length > 0) return ofUsers
  return goodOf(first.signatures, primary, (type) => type === DIRECT, { key: primary })
}

const soonest = (...ends: readonly (number | undefined)[]): number | undefined => {
  const some = ends.filter((e) => e !== undefined)
  return some.length === 0 ? undefined : Math.min(...some)
}

/** End of the signature itself, after which its content no longer applies. Undefined: never. */
const endOfSignature = ({ created, signatureExpirationTime }: SignaturePacket): number | undefined =>
  signatureExpirationTime === null || signatureExpirationTime === 0
    ? undefined
    : Number(created) + signatureExpirationTime * 1_000

/** The earlier of the key's expiry in the signature and the signature's own. */
const endOf = ({ created }: AnyKeyPacket, signature: SignaturePacket): number | undefined =>
  soonest(
    signature.keyExpirationTime === null || signature.keyExpirationTime === 0
      ? undefined
      : Number(created) + signature.keyExpirationTime * 1_000,
    endOfSignature(signature),
  )

interface Subkey {
  readonly key: AnyKeyPacket
  readonly until: number | undefined
}

/** Undefined when the subkey may not sign: the primary key must have bound it for signing, and the subkey must have confirmed it. */
async function subkeyOf(primary: AnyKeyPacket, { tag, packet, signatures }: Section): Promise<Subkey | undefined> {
  if (tag !== SUBKEY || isUnread(packet)) return undefined
  const key = packet as AnyKeyPacket
  if (keyWeakness(key) !== undefined) return undefined
  const covered = { key: primary, bind: key }
  const newest = newestOf(await goodOf(signatures, primary, (type) => type === BINDING, covered))
  if (newest === undefined || !mayBeFor(newest, MAY_SIGN)) return undefined
  const inside = newest.embeddedSignature === null ? [] : [newest.embeddedSignature]
  const [agreed] = await goodOf(inside, key, (type) => type === BACK, covered)
  return agreed === undefined ? undefined : { key, until: soonest(endOf(key, newest), endOfSignature(agreed)) }
}

interface Revocations {
  /** The primary key, and everything with it. */
  readonly isWhole: boolean
  /** Fingerprints. */
  readonly subkeys: ReadonlySet<string>
}

/**
 * Finds revocations anywhere in the block, as gpg does, also behind other packets. If one cannot be verified, it may still be real: then the certificate
 * is not used, because its owner may have given up the key.
 */
async function revocationsIn(primary: AnyKeyPacket, sections: readonly Section[]): Promise<Revocations> {
  const { enums } = await openpgp()
  const all = sections.flatMap((s) => s.signatures).filter((s) => REVOCATIONS.has(s.signatureType ?? 0))
  const subkeys = sections.flatMap(({ tag, packet }) =>
    tag === SUBKEY && !isUnread(packet) ? [packet as AnyKeyPacket] : [],
  )
  const isGood = async (signature: SignaturePacket, type: Enums.signature, covered: Covered) =>
    weaknessOf(signature, { isOld: true }) === undefined && (await isSignedBy(primary, signature, type, covered))
  const revoked = new Set<string>()
  let isWhole = false
  for (const signature of all) {
    if (signature.signatureType === enums.signature.keyRevocation) {
      if (!(await isGood(signature, enums.signature.keyRevocation, { key: primary }))) throw unverified()
      isWhole = true
      continue
    }
    const of = await firstOf(subkeys, (bind) =>
      isGood(signature, enums.signature.subkeyRevocation, { key: primary, bind }),
    )
    if (of === undefined) throw unverified()
    revoked.add(fingerprintOf(of))
  }
  return { isWhole, subkeys: revoked }
}

async function firstOf<T>(all: readonly T[], is: (one: T) => Promise<boolean>): Promise<T | undefined> {
  for (const one of all) if (await is(one)) return one
  return undefined
}

const unverified = (): Malformed => new Malformed('has a revocation that cannot be verified; export the key again')
