// One signature packet of OpenPGP, version 4: what it says and which bytes it covers. Only what is in its hashed part counts, but for hints which key made it.
import { createHash } from 'node:crypto'
import { Malformed } from '../ssh-wire.ts'
import { PacketReader } from './packets.ts'
import { defined } from '#lib/defined.ts'

export interface SignaturePacket {
  readonly type: number
  readonly algorithm: number
  /** As node:crypto names it. */
  readonly hash: string
  /** Begin of the digest. */
  readonly left: Buffer
  /** Numbers of the signature. */
  readonly material: Buffer
  /** What is hashed after the content. */
  readonly trailer: Buffer
  readonly created: number
  /** Milliseconds from `created`, or from that of the key. */
  readonly expiresAfterMs?: number
  readonly keyExpiresAfterMs?: number
  readonly flags?: number
  /** Fingerprint, or the last 16 digits of one, in capitals; a hint. */
  readonly issuer?: string
  /** Signature packets inside it. */
  readonly embedded: readonly Buffer[]
}

const VERSION = 4
const HASHES: ReadonlyMap<number, string> = new Map([
  [8, 'sha256'],
  [9, 'sha384'],
  [10, 'sha512'],
])
const SHA1 = 2
const NAMES: Readonly<Record<number, string>> = { 1: 'MD5', [SHA1]: 'SHA-1', 3: 'RIPEMD-160', 11: 'SHA-224' }

const CREATED = 2
const EXPIRES = 3
const KEY_EXPIRES = 9
const ISSUER = 16
const FLAGS = 27
const EMBEDDED = 32
const ISSUER_FINGERPRINT = 33
/** They change what a signature means. */
const ONCE: ReadonlySet<number> = new Set([CREATED, EXPIRES, KEY_EXPIRES, FLAGS, ISSUER_FINGERPRINT])
/** Without an effect on whether a signature is good: preferences, names, notes for people. */
const IGNORED: ReadonlySet<number> = new Set([
  4, 5, 6, 7, 11, 12, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 34, 35, 37, 38, 39,
])
const NOTATION = 20
const CRITICAL = 0x80
const MAX_SUBPACKETS = 64

/** `isOld` also takes SHA-1: for revocations, which are believed sooner. */
export function parseSignature(body: Buffer, { isOld = false }: { readonly isOld?: boolean } = {}): SignaturePacket {
  const reader = new PacketReader(body)
  const version = reader.number(1)
  if (version !== VERSION) throw new Malformed(`has a signature of version ${version}; version ${VERSION} is supported`)
  const [type, algorithm, hashId] = [reader.number(1), reader.number(1), reader.number(1)]
  const hash = HASHES.get(hashId) ?? (isOld && hashId === SHA1 ? 'sha1' : undefined)
  if (hash === undefined)
    throw new Malformed(`uses the hash ${NAMES[hashId] ?? hashId}; use SHA-256 or longer (digest-algo of gpg)`)
  const hashed = subpacketsIn(reader.take(reader.number(2)))
  const covered = body.subarray(0, reader.at)
  const unhashed = subpacketsIn(reader.take(reader.number(2)))
  const left = reader.take(2)
  const material = body.subarray(reader.at)
  const created = numberIn(hashed, CREATED)
  if (created === undefined) throw new Malformed('has no time')
  const issuer = fingerprintIn([...hashed, ...unhashed]) ?? keyIdIn([...hashed, ...unhashed])
  const [expires, keyExpires] = [numberIn(hashed, EXPIRES) ?? 0, numberIn(hashed, KEY_EXPIRES) ?? 0]
  const flags = hashed.find((s) => s.type === FLAGS)?.data
  return {
    type,
    algorithm,
    hash,
    left,
    material,
    trailer: trailerOf(covered),
    created: created * 1_000,
    ...(expires > 0 && { expiresAfterMs: expires * 1_000 }),
    ...(keyExpires > 0 && { keyExpiresAfterMs: keyExpires * 1_000 }),
    ...(flags !== undefined && { flags: flags[0] ?? 0 }),
    ...defined({ issuer }),
    embedded: [...hashed, ...unhashed].filter((s) => s.type === EMBEDDED).map((s) => s.data),
  }
}

function trailerOf(covered: Buffer): Buffer {
  const end = Buffer.from([VERSION, 0xff, 0, 0, 0, 0])
  end.writeUInt32BE(covered.length, 2)
  return Buffer.concat([covered, end])
}

/** What the key signs, as one text; its digest begins as the packet says. */
export function signedBytes({ hash, left, trailer }: SignaturePacket, content: readonly Uint8Array[]) {
  const data = Buffer.concat([...content, trailer])
  const digest = createHash(hash).update(data).digest()
  return digest.subarray(0, 2).equals(left) ? { data, digest } : undefined
}

interface Subpacket {
  readonly type: number
  readonly data: Buffer
}

function subpacketsIn(bytes: Buffer): readonly Subpacket[] {
  const reader = new PacketReader(bytes)
  const found: Subpacket[] = []
  while (!reader.isAtEnd) {
    if (found.length >= MAX_SUBPACKETS) throw new Malformed(`has more than ${MAX_SUBPACKETS} subpackets`)
    const first = reader.number(1)
    const length = first < 192 ? first : first < 255 ? ((first - 192) << 8) + reader.number(1) + 192 : reader.number(4)
    if (length === 0) throw new Malformed('has an empty subpacket')
    const kind = reader.number(1)
    const type = kind & ~CRITICAL
    const data = reader.take(length - 1)
    if (ONCE.has(type) && found.some((s) => s.type === type)) throw new Malformed(`has subpacket ${type} twice`)
    const isKnown = ONCE.has(type) || type === ISSUER || type === EMBEDDED || IGNORED.has(type)
    if ((kind & CRITICAL) !== 0 && !isKnown)
      throw new Malformed(`has a critical ${type === NOTATION ? 'notation' : `subpacket ${type}`}, which is not known`)
    found.push({ type, data })
  }
  return found
}

function numberIn(all: readonly Subpacket[], type: number): number | undefined {
  const data = all.find((s) => s.type === type)?.data
  if (data === undefined) return undefined
  if (data.length !== 4) throw new Malformed(`has subpacket ${type} of ${data.length} bytes`)
  return data.readUInt32BE(0)
}

const FINGERPRINT_BYTES = 20
const KEY_ID_BYTES = 8
const hex = (bytes: Buffer): string => bytes.toString('hex').toUpperCase()

function fingerprintIn(all: readonly Subpacket[]): string | undefined {
  const found = all.find((s) => s.type === ISSUER_FINGERPRINT)?.data
  return found?.[0] === VERSION && found.length === 1 + FINGERPRINT_BYTES ? hex(found.subarray(1)) : undefined
}

function keyIdIn(all: readonly Subpacket[]): string | undefined {
  const found = all.find((s) => s.type === ISSUER)?.data
  return found?.length === KEY_ID_BYTES ? hex(found) : undefined
}
