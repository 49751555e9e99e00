// Writes OpenPGP keys, certificates and signatures packet by packet, also such as gpg would never write. Ed25519 in its old form, version 4.
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { sha256 } from '#lib/sha256.ts'

export interface WrittenKey {
  readonly secret: KeyObject
  /** Body of the key's packet. */
  readonly body: Buffer
}

const u16 = (n: number): Buffer => Buffer.from([(n >> 8) & 255, n & 255])
export const u32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(n)
  return bytes
}

export const packet = (tag: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0xc0 | tag, 255]), u32(body.length), body])

function integer(bytes: Buffer): Buffer {
  const from = bytes.findIndex((b) => b !== 0)
  const value = bytes.subarray(from)
  return Buffer.concat([u16(value.length * 8 - Math.clz32(value[0] ?? 0) + 24), value])
}

const OLD_ED25519 = Buffer.from('092b06010401da470f01', 'hex')
const EDDSA = 22

export function writtenKey(createdSeconds: number): WrittenKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const point = integer(Buffer.concat([Buffer.from([0x40]), raw]))
  const body = Buffer.concat([Buffer.from([4]), u32(createdSeconds), Buffer.from([EDDSA]), OLD_ED25519, point])
  return { secret: privateKey, body }
}

/** As it is hashed. */
export const ofKey = ({ body }: WrittenKey): Buffer => Buffer.concat([Buffer.from([0x99]), u16(body.length), body])
export const ofUser = (name: string): Buffer =>
  Buffer.concat([Buffer.from([0xb4]), u32(Buffer.byteLength(name)), Buffer.from(name)])

export const subpacket = (type: number, data: Buffer): Buffer =>
  Buffer.concat([Buffer.from([255]), u32(data.length + 1), Buffer.from([type]), data])

export interface SignatureWish {
  readonly by: WrittenKey
  readonly type: number
  readonly content: readonly Buffer[]
  readonly createdSeconds: number
  readonly hashed?: readonly Buffer[]
}

const [CREATED, ISSUER, ISSUER_FINGERPRINT, SHA256] = [2, 16, 33, 8]

/** The body of a signature's packet. */
export function writtenSignature({ by, type, content, createdSeconds, hashed = [] }: SignatureWish): Buffer {
  const fingerprint = createHash('sha1').update(ofKey(by)).digest()
  const own = Buffer.concat([
    subpacket(CREATED, u32(createdSeconds)),
    subpacket(ISSUER_FINGERPRINT, Buffer.concat([Buffer.from([4]), fingerprint])),
    ...hashed,
  ])
  const hint = subpacket(ISSUER, fingerprint.subarray(-8))
  const covered = Buffer.concat([Buffer.from([4, type, EDDSA, SHA256]), u16(own.length), own])
  const trailer = Buffer.concat([covered, Buffer.from([4, 255]), u32(covered.length)])
  const digest = sha256(Buffer.concat([...content, trailer]))
  const made = sign(null, digest, by.secret)
  const numbers = [made.subarray(0, 32), made.subarray(32)].map(integer)
  return Buffer.concat([covered, u16(hint.length), hint, digest.subarray(0, 2), ...numbers])
}

/** Without a checksum, as newer programs write it. */
export const armored = (label: string, bytes: Buffer): string =>
  [
    `-----BEGIN ${label}-----`,
    '',
    ...(bytes.toString('base64').match(/.{1,64}/g) ?? []),
    `-----END ${label}-----`,
    '',
  ].join('\n')
