// Keys of age: `AGE-SECRET-KEY-1…` as age-keygen writes them, one a line, with comments. X25519 only.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

export interface AgeIdentity {
  readonly key: KeyObject
  /** The raw public key, which is part of how a file key is wrapped. */
  readonly publicKey: Buffer
  /** `age1…`, for messages. */
  readonly recipient: string
}

/** One Secret holds the current key and a few older ones. */
const MAX_IDENTITIES = 20

/** Throws a text without the key where a line is none. */
export function parseIdentities(text: string): readonly AgeIdentity[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (keys.length > MAX_IDENTITIES) throw new Error(`has ${keys.length} keys (limit ${MAX_IDENTITIES})`)
  return keys.map(identityOf)
}

const HRP = 'age-secret-key-'
/** DER around 32 raw bytes, private and public (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex')
const SPKI = Buffer.from('302a300506032b656e032100', 'hex')
const KEY_BYTES = 32

function identityOf(line: string): AgeIdentity {
  const raw = line === line.toUpperCase() ? decodeBech32(line.toLowerCase(), HRP) : undefined
  if (raw?.length !== KEY_BYTES) throw new Error('has a line that is no X25519 key of age (AGE-SECRET-KEY-1…)')
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI.length)
  return { key, publicKey, recipient: encodeBech32('age', publicKey) }
}

export const x25519PublicKey = (raw: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })

const CHARS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
const CHECKSUM = 6

function decodeBech32(text: string, hrp: string): Buffer | undefined {
  if (!text.startsWith(`${hrp}1`)) return undefined
  const values = Array.from(text.slice(hrp.length + 1), (c) => CHARS.indexOf(c))
  if (values.length <= CHECKSUM || values.includes(-1) || polymod([...expanded(hrp), ...values]) !== 1) return undefined
  const bytes = regrouped(values.slice(0, -CHECKSUM), 5, 8)
  return bytes === undefined ? undefined : Buffer.from(bytes)
}

function encodeBech32(hrp: string, bytes: Buffer): string {
  const values = regrouped([...bytes], 8, 5) ?? []
  const check = polymod([...expanded(hrp), ...values, ...Array.from({ length: CHECKSUM }, () => 0)]) ^ 1
  const sum = Array.from({ length: CHECKSUM }, (_, i) => (check >>> (5 * (CHECKSUM - 1 - i))) & 31)
  return `${hrp}1${[...values, ...sum].map((v) => CHARS[v]).join('')}`
}

const expanded = (hrp: string): readonly number[] => [
  ...[...hrp].map((c) => c.charCodeAt(0) >>> 5),
  0,
  ...[...hrp].map((c) => c.charCodeAt(0) & 31),
]

function polymod(values: readonly number[]): number {
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [i, generator] of GENERATOR.entries()) if ((top >>> i) & 1) sum ^= generator
  }
  return sum >>> 0
}

/** Undefined where what is left over is not padding. */
function regrouped(values: readonly number[], from: number, to: number): readonly number[] | undefined {
  const out: number[] = []
  let [buffer, bits] = [0, 0]
  for (const value of values) {
    buffer = ((buffer << from) | value) & 0xfff
    bits += from
    while (bits >= to) {
      bits -= to
      out.push((buffer >>> bits) & ((1 << to) - 1))
    }
  }
  const rest = buffer & ((1 << bits) - 1)
  if (to < from) return bits === 0 ? out : [...out, (rest << (to - bits)) & ((1 << to) - 1)]
  return bits < from && rest === 0 ? out : undefined
}
