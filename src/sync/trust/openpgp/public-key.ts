// Public keys of OpenPGP, version 4, of the kinds that may sign commits: the same strengths as for SSH. Others are refused by name.
import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'
import { fixedInteger, Malformed } from '../ssh-wire.ts'
import { PacketReader } from './packets.ts'
import { signedBytes, type SignaturePacket } from './signature-packet.ts'

export interface PgpPublicKey {
  /** 40 digits in capitals. */
  readonly fingerprint: string
  readonly created: number
  /** As certificates are hashed. */
  readonly prefixed: Buffer
  readonly kind: Kind
}

type Kind =
  | { readonly is: 'Rsa' | 'Ed25519' | 'EdDsa'; readonly key: KeyObject }
  | { readonly is: 'EcDsa'; readonly key: KeyObject; readonly bytes: number }
  /** It may not sign commits, and why. */
  | { readonly is: 'Unusable'; readonly why: string }

const VERSION = 4
const RSA: ReadonlySet<number> = new Set([1, 3])
const ECDSA = 19
const EDDSA = 22
const ED25519 = 27
const NAMES: Readonly<Record<number, string>> = {
  2: 'RSA for encryption',
  16: 'Elgamal',
  17: 'DSA',
  18: 'ECDH',
  25: 'X25519',
  26: 'X448',
  28: 'Ed448',
}
const LEAST_RSA_BITS = 3_072
const ED25519_BYTES = 32

/** By object identifier. */
const CURVES: ReadonlyMap<string, { readonly crv: string; readonly bytes: number }> = new Map([
  ['2a8648ce3d030107', { crv: 'P-256', bytes: 32 }],
  ['2b81040022', { crv: 'P-384', bytes: 48 }],
  ['2b81040023', { crv: 'P-521', bytes: 66 }],
])
const OLD_ED25519 = '2b06010401da470f01'

export function parsePublicKey(body: Buffer): PgpPublicKey {
  const reader = new PacketReader(body)
  const version = reader.number(1)
  if (version !== VERSION) throw new Malformed(`is a key of version ${version}; version ${VERSION} is supported`)
  const created = reader.number(4) * 1_000
  const algorithm = reader.number(1)
  const head = Buffer.from([0x99, 0, 0])
  if (body.length > 0xffff) throw new Malformed('is too long')
  head.writeUInt16BE(body.length, 1)
  const prefixed = Buffer.concat([head, body])
  const fingerprint = createHash('sha1').update(prefixed).digest('hex').toUpperCase()
  return { fingerprint, created, prefixed, kind: kindOf(algorithm, reader) }
}

function kindOf(algorithm: number, reader: PacketReader): Kind {
  const jwk = (fields: Readonly<Record<string, string>>): KeyObject => {
    reader.end()
    try {
      return createPublicKey({ key: fields, format: 'jwk' })
    } catch {
      throw new Malformed('holds no valid public key')
    }
  }
  const text = (bytes: Buffer) => bytes.toString('base64url')
  if (RSA.has(algorithm)) {
    const [n, e] = [reader.integer(), reader.integer()]
    const bits = n.length === 0 ? 0 : n.length * 8 - Math.clz32(n[0] ?? 0) + 24
    const key = jwk({ kty: 'RSA', n: text(n), e: text(e) })
    if (bits >= LEAST_RSA_BITS) return { is: 'Rsa', key }
    return { is: 'Unusable', why: `is an RSA key of ${bits} bits; the least is ${LEAST_RSA_BITS}` }
  }
  if (algorithm === ED25519)
    return { is: 'Ed25519', key: jwk({ kty: 'OKP', crv: 'Ed25519', x: text(reader.take(ED25519_BYTES)) }) }
  if (algorithm !== ECDSA && algorithm !== EDDSA)
    return { is: 'Unusable', why: `is a key for ${NAMES[algorithm] ?? `algorithm ${algorithm}`}` }
  const oid = reader.take(reader.number(1)).toString('hex')
  const point = reader.integer()
  if (algorithm === EDDSA) {
    if (oid !== OLD_ED25519) return { is: 'Unusable', why: 'is a key on another curve than Ed25519' }
    if (point.length !== 1 + ED25519_BYTES || point[0] !== 0x40) throw new Malformed('has a malformed point')
    return { is: 'EdDsa', key: jwk({ kty: 'OKP', crv: 'Ed25519', x: text(point.subarray(1)) }) }
  }
  const curve = CURVES.get(oid)
  if (curve === undefined) return { is: 'Unusable', why: 'is a key on another curve than P-256, P-384 and P-521' }
  const { crv, bytes } = curve
  if (point.length !== 1 + 2 * bytes || point[0] !== 0x04) throw new Malformed('has a malformed point')
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)]
  return { is: 'EcDsa', bytes, key: jwk({ kty: 'EC', crv, x: text(x), y: text(y) }) }
}

const ALGORITHMS: Readonly<Record<Exclude<Kind['is'], 'Unusable'>, ReadonlySet<number>>> = {
  Rsa: RSA,
  EcDsa: new Set([ECDSA]),
  EdDsa: new Set([EDDSA]),
  Ed25519: new Set([ED25519]),
}

/** Whether this key signed this content. Throws Malformed for numbers that cannot be read. */
export function isSignedBy(
  { kind }: PgpPublicKey,
  signature: SignaturePacket,
  content: readonly Uint8Array[],
): boolean {
  const signed = signedBytes(signature, content)
  if (kind.is === 'Unusable' || signed === undefined || !ALGORITHMS[kind.is].has(signature.algorithm)) return false
  const { data, digest } = signed
  const { hash, material } = signature
  const reader = new PacketReader(material)
  const read = <T>(take: () => T): T => {
    const taken = take()
    reader.end()
    return taken
  }
  switch (kind.is) {
    case 'Rsa': {
      const bytes = Math.ceil((kind.key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
      return verify(
        hash,
        data,
        kind.key,
        fixedInteger(
          read(() => reader.integer()),
          bytes,
        ),
      )
    }
    case 'EcDsa': {
      const both = read(() => [reader.integer(), reader.integer()].map((n) => fixedInteger(n, kind.bytes)))
      return verify(hash, data, { key: kind.key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(both))
    }
    case 'EdDsa': {
      const both = read(() => [reader.integer(), reader.integer()].map((n) => fixedInteger(n, ED25519_BYTES)))
      return verify(null, digest, kind.key, Buffer.concat(both))
    }
    case 'Ed25519':
      return verify(
        null,
        digest,
        kind.key,
        read(() => reader.take(2 * ED25519_BYTES)),
      )
    default:
      return kind satisfies never
  }
}
