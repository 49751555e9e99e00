// An OpenPGP certificate (gpg --armor --export) and its keys that may sign: only what its own primary key says of them, and only with hashes that still count.
// A block from a key server may have anything added: other people's signatures mean nothing here, and revocations always count.
import { Malformed } from '../ssh-wire.ts'
import { PGP_KEY, packetsIn, type Packet } from './packets.ts'
import { isSignedBy, parsePublicKey, type PgpPublicKey } from './public-key.ts'
import { parseSignature, type SignaturePacket } from './signature-packet.ts'
import { defined } from '#lib/defined.ts'

export interface PgpSigningKey {
  /** FINGERPRINT, or PRIMARY/SUBKEY; the name of the key in policies. */
  readonly name: string
  readonly key: PgpPublicKey
  /** It may not be used from then on. */
  readonly until?: number
}

export interface PgpCertificate {
  readonly fingerprint: string
  /** That may sign; a revoked one is here, too. */
  readonly keys: readonly PgpSigningKey[]
  /** Fingerprints that the certificate itself revokes. */
  readonly revoked: readonly string[]
}

const SIGNATURE = 2
const PRIMARY = 6
const USER_ID = 13
const SUBKEY = 14
const ATTRIBUTE = 17
/** Of the program that wrote the block, and padding. */
const MEANINGLESS: ReadonlySet<number> = new Set([10, 12, 21])

const POSITIVE_FROM = 0x10
const POSITIVE_TO = 0x13
const DIRECT = 0x1f
const BINDING = 0x18
const BACK = 0x19
const KEY_REVOKED = 0x20
const SUBKEY_REVOKED = 0x28
const MAY_SIGN = 0x02

/** A key, a user or a subkey, with the signatures behind it. */
interface Section {
  readonly packet: Packet
  readonly signatures: readonly Buffer[]
}

/** Throws Malformed when it is no certificate, or none of its keys may sign commits. */
export function parseCertificate(armored: string): PgpCertificate {
  const [first, ...rest] = sectionsOf(packetsIn(armored, PGP_KEY))
  if (first?.packet.tag !== PRIMARY) throw new Malformed('begins with no public key')
  if (rest.some((s) => s.packet.tag === PRIMARY))
    throw new Malformed('has several keys; write each into an entry of its own')
  const primary = parsePublicKey(first.packet.body)
  if (primary.kind.is === 'Unusable') throw new Malformed(primary.kind.why)
  const own = ownSignatures(primary, first, rest)
  const newest = own.toSorted((a, b) => b.created - a.created)[0]
  if (newest === undefined)
    throw new Malformed('is not signed by itself with SHA-256 or longer; gpg --quick-set-expire does so')
  const end = endOf(primary, newest)
  const revocations = revocationsIn(primary, [first, ...rest])
  const subkeys = rest
    .filter((s) => s.packet.tag === SUBKEY)
    .flatMap((s) => subkeyOf(primary, s, { endOfPrimary: end, revoked: revocations.subkeys }))
  const isRevoked = revocations.isWhole
  const mayPrimary = newest.flags === undefined || (newest.flags & MAY_SIGN) !== 0
  const keys = [
    ...(mayPrimary ? [{ name: primary.fingerprint, key: primary, ...defined({ until: end }) }] : []),
    ...subkeys.map(({ key, until }) => ({
      name: `${primary.fingerprint}/${key.fingerprint}`,
      key,
      ...defined({ until }),
    })),
  ]
  if (keys.length === 0) throw new Malformed('has no key that may sign')
  const revoked = [
    ...(isRevoked ? [primary.fingerprint] : []),
    ...subkeys.filter((s) => s.isRevoked).map((s) => s.key.fingerprint),
  ]
  return { fingerprint: primary.fingerprint, keys, revoked }
}

function sectionsOf(packets: readonly Packet[]): readonly Section[] {
  const sections: { packet: Packet; signatures: Buffer[] }[] = []
  for (const packet of packets) {
    if (MEANINGLESS.has(packet.tag)) continue
    if (packet.tag === SIGNATURE) {
      const last = sections.at(-1)
      if (last === undefined) throw new Malformed('begins with a signature')
      last.signatures.push(packet.body)
    } else if ([PRIMARY, USER_ID, SUBKEY, ATTRIBUTE].includes(packet.tag)) sections.push({ packet, signatures: [] })
    else throw new Malformed(packet.tag === 5 || packet.tag === 7 ? 'holds a secret key' : `has a packet ${packet.tag}`)
  }
  return sections
}

/** A signature of others, or with a hash that no longer counts, says nothing. */
function readable(body: Buffer): SignaturePacket | undefined {
  try {
    return parseSignature(body)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

const isMaybeBy = ({ issuer }: SignaturePacket, { fingerprint }: PgpPublicKey): boolean =>
  issuer === undefined || fingerprint.endsWith(issuer)

function isGood(signature: SignaturePacket, key: PgpPublicKey, content: readonly Uint8Array[]): boolean {
  if (!isMaybeBy(signature, key)) return false
  try {
    return isSignedBy(key, signature, content)
  } catch (error) {
    if (error instanceof Malformed) return false
    throw error
  }
}

/** What the primary key says of itself, with its users; of itself alone where it has none. */
function ownSignatures(primary: PgpPublicKey, first: Section, rest: readonly Section[]): readonly SignaturePacket[] {
  const ofUsers = rest
    .filter((s) => s.packet.tag === USER_ID || s.packet.tag === ATTRIBUTE)
    .flatMap(({ packet: { tag, body }, signatures }) => {
      const head = Buffer.from([tag === USER_ID ? 0xb4 : 0xd1, 0, 0, 0, 0])
      head.writeUInt32BE(body.length, 1)
      return signatures
        .flatMap((s) => readable(s) ?? [])
        .filter((s) => s.type >= POSITIVE_FROM && s.type <= POSITIVE_TO)
        .filter((s) => isGood(s, primary, [primary.prefixed, head, body]))
    })
  if (ofUsers.length > 0) return ofUsers
  return first.signatures
    .flatMap((s) => readable(s) ?? [])
    .filter((s) => s.type === DIRECT && isGood(s, primary, [primary.prefixed]))
}

const soonest = (...ends: readonly (number | undefined)[]): number | undefined => {
  const some = ends.filter((e) => e !== undefined)
  return some.length === 0 ? undefined : Math.min(...some)
}

/** Of the signature itself: what it says is no longer said then. Undefined: never. */
const endOfSignature = ({ created, expiresAfterMs }: SignaturePacket): number | undefined =>
  expiresAfterMs === undefined ? undefined : created + expiresAfterMs

/** Of the key, as the signature says, and of the signature. */
const endOf = ({ created }: PgpPublicKey, signature: SignaturePacket): number | undefined =>
  soonest(
    signature.keyExpiresAfterMs === undefined ? undefined : created + signature.keyExpiresAfterMs,
    endOfSignature(signature),
  )

interface Subkey {
  readonly key: PgpPublicKey
  readonly until: number | undefined
  readonly isRevoked: boolean
}

/** None when it may not sign: the primary key must have bound it for that, and it must have agreed. */
function subkeyOf(
  primary: PgpPublicKey,
  { packet, signatures }: Section,
  { endOfPrimary, revoked }: { readonly endOfPrimary: number | undefined; readonly revoked: ReadonlySet<string> },
): readonly Subkey[] {
  const key = parsePublicKey(packet.body)
  if (key.kind.is === 'Unusable') return []
  const content = [primary.prefixed, key.prefixed]
  const [newest] = signatures
    .flatMap((s) => readable(s) ?? [])
    .filter((s) => s.type === BINDING && isGood(s, primary, content))
    .toSorted((a, b) => b.created - a.created)
  if (newest === undefined || ((newest.flags ?? 0) & MAY_SIGN) === 0) return []
  const agreed = newest.embedded
    .flatMap((s) => readable(s) ?? [])
    .find((s) => s.type === BACK && isGood(s, key, content))
  if (agreed === undefined) return []
  return [
    {
      key,
      until: soonest(endOf(key, newest), endOfSignature(agreed), endOfPrimary),
      isRevoked: revoked.has(key.fingerprint),
    },
  ]
}

interface Revocations {
  /** The primary key, and all with it. */
  readonly isWhole: boolean
  /** Fingerprints. */
  readonly subkeys: ReadonlySet<string>
}

/**
 * Anywhere in the block: gpg finds them behind other packets too. One that cannot be verified may be one: then the certificate is not used, instead of
 * a key that its owner gave up.
 */
function revocationsIn(primary: PgpPublicKey, sections: readonly Section[]): Revocations {
  const all = sections.flatMap((s) => s.signatures)
  const subkeys = sections.filter((s) => s.packet.tag === SUBKEY).map((s) => parsePublicKey(s.packet.body))
  const revoked = new Set<string>()
  for (const body of all.filter((s) => typeOf(s) === SUBKEY_REVOKED)) {
    const signature = parseSignature(body, { isOld: true })
    const of = subkeys.find((key) => isGood(signature, primary, [primary.prefixed, key.prefixed]))
    if (of === undefined) throw unverified()
    revoked.add(of.fingerprint)
  }
  const ofKey = all.filter((s) => typeOf(s) === KEY_REVOKED)
  for (const body of ofKey)
    if (!isGood(parseSignature(body, { isOld: true }), primary, [primary.prefixed])) throw unverified()
  return { isWhole: ofKey.length > 0, subkeys: revoked }
}

/** Older versions of the packet have the type one byte later. */
const typeOf = (signature: Buffer): number | undefined => signature[signature[0] === 4 ? 1 : 2]

const unverified = (): Malformed => new Malformed('has a revocation that cannot be verified; export the key again')
