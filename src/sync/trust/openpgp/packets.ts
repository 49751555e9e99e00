// The packets of one armored OpenPGP text, read by the package openpgp. This file limits its input and decides which strengths count. A commit's author
// chooses the bytes of a signature: whatever they are, the result is packets or Malformed.
import type { AnyKeyPacket, AnyPacket, SignaturePacket, UserAttributePacket, UserIDPacket, enums } from 'openpgp'
import { messageOf } from '#lib/errors.ts'
import { Malformed } from '../ssh-wire.ts'

/** Loaded only if commits have such signatures, or a signer has such a key. */
export const openpgp = () => import('openpgp')

/** A certificate with several subkeys takes 6 KB, a signature 1 KB. */
const MAX_ARMOR_CHARS = 16_384

export const PGP_SIGNATURE = 'PGP SIGNATURE'
export const PGP_KEY = 'PGP PUBLIC KEY BLOCK'

/** A packet in a form that the package does not know; its bytes. */
export interface Unread {
  readonly tag: number
  readonly rawContent: Uint8Array
}

export const isUnread = (packet: object): packet is Unread => Object.hasOwn(packet, 'rawContent')

/** Reads packets with this label and nothing else. Compressed data and messages are never read. */
export async function packetsIn(armored: string, label: string): Promise<readonly (AnyPacket | Unread)[]> {
  const text = armored.trim()
  if (text.length > MAX_ARMOR_CHARS) throw new Malformed(`has more than ${MAX_ARMOR_CHARS} characters`)
  const [begin, end] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`]
  if (!text.startsWith(`${begin}\n`) && !text.startsWith(`${begin}\r\n`)) throw new Malformed(`is not one ${label}`)
  if (!text.endsWith(`\n${end}`) || text.slice(begin.length, -end.length).includes('-----'))
    throw new Malformed(`is not one ${label}`)
  const { config, PacketList, unarmor, ...pgp } = await openpgp()
  const classes =
    label === PGP_SIGNATURE
      ? [pgp.SignaturePacket]
      : [
          pgp.SignaturePacket,
          pgp.PublicKeyPacket,
          pgp.PublicSubkeyPacket,
          pgp.UserIDPacket,
          pgp.UserAttributePacket,
          pgp.SecretKeyPacket,
          pgp.SecretSubkeyPacket,
        ]
  const allowed = Object.fromEntries(classes.map((one) => [one.tag, one])) as unknown as Parameters<
    typeof PacketList.fromBinary
  >[1]
  try {
    const data = (await unarmor(text)).data as unknown as Uint8Array
    // Another person's signature in an unknown form proves nothing, and is no reason to refuse a key.
    const packets = [...(await PacketList.fromBinary(data, allowed, { ...config, ignoreMalformedPackets: true }))]
    const [only] = packets
    if (label === PGP_SIGNATURE && packets.length === 1 && only instanceof pgp.SignaturePacket && !isWhole(data, only))
      throw new Malformed('has lengths that contradict each other')
    return packets
  } catch (error) {
    if (error instanceof Malformed) throw error
    throw new Malformed(`cannot be read: ${messageOf(error).split('\n')[0]?.slice(0, 100) ?? ''}`)
  }
}

/** The package trusts the lengths inside an area and ignores the area's own length: such bytes would have two meanings. */
function isWhole(data: Uint8Array, { signatureData }: SignaturePacket): boolean {
  const signed = Buffer.from(signatureData ?? [])
  const bytes = Buffer.from(data)
  const at = bytes.indexOf(signed)
  if (signed.length < HASHED_AT + 2 || at < 0 || at > MOST_HEADER) return false
  return isArea(signed.subarray(HASHED_AT), true) && isArea(bytes.subarray(at + signed.length), false)
}

const MOST_HEADER = 6
/** After version, type and two algorithms. */
const HASHED_AT = 4

/** Whether the subpackets end exactly where their area does. */
function isArea(bytes: Buffer, isAlone: boolean): boolean {
  if (bytes.length < 2) return false
  const end = 2 + bytes.readUInt16BE(0)
  let at = 2
  while (at < end && at < bytes.length) {
    const first = bytes[at] ?? 0
    if (first < 192) at += 1 + first
    else if (first < 255) at += 2 + ((first - 192) << 8) + (bytes[at + 1] ?? 0) + 192
    else at += 5 + (at + 5 <= bytes.length ? bytes.readUInt32BE(at + 1) : bytes.length)
  }
  return at === end && (!isAlone || end === bytes.length)
}

const SHA1 = 2
/** SHA-256 and longer. */
const HASHES: ReadonlySet<number> = new Set([8, 9, 10])
const NAMES: Readonly<Record<number, string>> = { 1: 'MD5', [SHA1]: 'SHA-1', 3: 'RIPEMD-160', 11: 'SHA-224' }
const VERSION = 4
/** Which key signed, and a subkey's confirmation: nothing else is read outside the signed area. */
const HINTS: ReadonlySet<number> = new Set([16, 32, 33])

/** Why a signature does not count, whatever its key. `isOld` also accepts SHA-1: for revocations, which need less proof. */
export function weaknessOf(
  { version, hashAlgorithm, created, rawNotations, unknownSubpackets, unhashedSubpackets }: SignaturePacket,
  { isOld = false }: { readonly isOld?: boolean } = {},
): string | undefined {
  const hash: number = hashAlgorithm ?? 0
  if (version !== VERSION) return `has a signature of version ${version}; version ${VERSION} is supported`
  if (!HASHES.has(hash) && !(isOld && hash === SHA1))
    return `uses the hash ${NAMES[hash] ?? hash}; use SHA-256 or longer (digest-algo of gpg)`
  if (created === null) return 'has no time'
  if (rawNotations.some((n) => n.critical)) return 'has a critical notation, which is not known'
  const unknown = [...unknownSubpackets, ...unhashedSubpackets.filter((s) => !HINTS.has(s.type))].find(
    (s) => s.critical,
  )
  return unknown === undefined ? undefined : `has a critical subpacket ${unknown.type}, which is not known`
}

const LEAST_RSA_BITS = 3_072
const CURVES: ReadonlySet<string> = new Set(['nistP256', 'nistP384', 'nistP521'])
const KINDS: Readonly<Record<string, string>> = { dsa: 'DSA', elgamal: 'Elgamal', ecdh: 'ECDH', ed448: 'Ed448' }

type Weakness = (key: { readonly bits: number; readonly curve: string }) => string | undefined

const ofRsa: Weakness = ({ bits }) =>
  bits < LEAST_RSA_BITS ? `is an RSA key of ${bits} bits; the least is ${LEAST_RSA_BITS}` : undefined

/** By algorithm, for algorithms that may sign commits. */
const WEAKNESS: Readonly<Partial<Record<string, Weakness>>> = {
  rsaEncryptSign: ofRsa,
  rsaSign: ofRsa,
  ed25519: () => undefined,
  eddsaLegacy: ({ curve }) => (curve === 'ed25519Legacy' ? undefined : 'is a key on another curve than Ed25519'),
  ecdsa: ({ curve }) => (CURVES.has(curve) ? undefined : 'is a key on another curve than P-256, P-384 and P-521'),
}

/** Why a key may not sign commits; the required strengths are the same as for SSH. */
export function keyWeakness(key: AnyKeyPacket): string | undefined {
  if (key.version !== VERSION) return `is a key of version ${key.version}; version ${VERSION} is supported`
  const { algorithm, bits = 0, curve = '' } = key.getAlgorithmInfo()
  const weak = WEAKNESS[algorithm]
  return weak === undefined ? `is a key for ${KINDS[algorithm] ?? algorithm}` : weak({ bits, curve })
}

/** What a signature covers, in the package's own fields. */
export interface Covered {
  readonly key?: AnyKeyPacket
  readonly bind?: AnyKeyPacket
  readonly userID?: UserIDPacket | null
  readonly userAttribute?: UserAttributePacket | null
}

/** Times are not checked here: a commit's time is when the hub first observed it. */
const AT_NO_TIME = null as unknown as Date

/** The package's own message; gpg ignores those two bytes. */
const OTHER_BEGINNING = 'Signed digest did not match'

/** Why this key did not make the signature over this content; undefined: it did. */
export async function mismatchOf(
  key: AnyKeyPacket,
  signature: SignaturePacket,
  type: enums.signature,
  covered: Covered,
): Promise<string | undefined> {
  const { config } = await openpgp()
  try {
    // weaknessOf decides which hashes count.
    await signature.verify(key, type, covered, AT_NO_TIME, true, { ...config, rejectHashAlgorithms: new Set() })
    return undefined
  } catch (error) {
    const isDigest = messageOf(error).includes(OTHER_BEGINNING)
    return `does not match the content${isDigest ? ': its digest begins otherwise' : ''}`
  }
}

export const isSignedBy = async (...question: Parameters<typeof mismatchOf>): Promise<boolean> =>
  (await mismatchOf(...question)) === undefined
