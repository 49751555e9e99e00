// SSH public keys in their usual text form (ssh-ed25519 AAAA… comment), and the kinds that may sign commits: others are refused by name.
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { Malformed, WireReader } from './ssh-wire.ts'
import { defined } from '#lib/defined.ts'
import { withoutEnd } from '#lib/without-ends.ts'

export interface SshKey {
  readonly type: KeyType
  readonly key: KeyObject
  /** As ssh-keygen -l shows it: SHA256:… */
  readonly fingerprint: string
  /** The application of a hardware key; default: `ssh:`. */
  readonly application?: Buffer
}

const CURVES = {
  nistp256: { crv: 'P-256', bytes: 32, hash: 'sha256' },
  nistp384: { crv: 'P-384', bytes: 48, hash: 'sha384' },
  nistp521: { crv: 'P-521', bytes: 66, hash: 'sha512' },
} as const
type Curve = keyof typeof CURVES

export const curveOf = (type: KeyType): (typeof CURVES)[Curve] | undefined => {
  const [, name] = /^(?:sk-)?ecdsa-sha2-(nistp\d+)(?:@openssh\.com)?$/.exec(type) ?? []
  return name === undefined ? undefined : CURVES[name as Curve]
}

const KEY_TYPES = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const
export type KeyType = (typeof KEY_TYPES)[number]

/** Well-funded attackers can break shorter keys. */
const LEAST_RSA_BITS = 3_072
/** Verifying with a longer key takes seconds. */
const MOST_RSA_BITS = 16_384
const ED25519_BYTES = 32
const UNCOMPRESSED = 0x04

const isKeyType = (name: string): name is KeyType => (KEY_TYPES as readonly string[]).includes(name)

/** `blob`: the key as it appears in a signature, or in base64 in a line. */
export function sshKey(blob: Uint8Array): SshKey {
  const reader = new WireReader(blob)
  const type = reader.text()
  if (/-cert-v\d\d@/.test(type)) throw new Malformed(`is a certificate (${type}); only plain keys may sign commits`)
  if (!isKeyType(type)) throw new Malformed(`has the type ${type.slice(0, 64)}, which may not sign commits`)
  const fields = jwkOf(type, reader)
  const application = type.startsWith('sk-') ? reader.string() : undefined
  reader.end()
  const fingerprint = fingerprintOf(blob)
  try {
    const key = createPublicKey({ key: fields, format: 'jwk' })
    return { type, key, fingerprint, ...defined({ application }) }
  } catch {
    throw new Malformed('holds no valid public key')
  }
}

function jwkOf(type: KeyType, reader: WireReader): Readonly<Record<string, string>> {
  const curve = curveOf(type)
  if (curve !== undefined) {
    if (CURVES[reader.text() as Curve] !== curve) throw new Malformed('names another curve than its type')
    const point = reader.string()
    if (point.length !== 1 + 2 * curve.bytes || point[0] !== UNCOMPRESSED)
      throw new Malformed('has a point that is not uncompressed')
    const [x, y] = [point.subarray(1, 1 + curve.bytes), point.subarray(1 + curve.bytes)]
    return { kty: 'EC', crv: curve.crv, x: x.toString('base64url'), y: y.toString('base64url') }
  }
  if (type === 'ssh-rsa') {
    const [e, n] = [reader.integer(), reader.integer()]
    const bits = n.length === 0 ? 0 : n.length * 8 - Math.clz32(n[0] ?? 0) + 24
    if (bits < LEAST_RSA_BITS) throw new Malformed(`is an RSA key of ${bits} bits; the least is ${LEAST_RSA_BITS}`)
    if (bits > MOST_RSA_BITS) throw new Malformed(`is an RSA key of ${bits} bits; the most is ${MOST_RSA_BITS}`)
    return { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') }
  }
  const x = reader.string()
  if (x.length !== ED25519_BYTES) throw new Malformed('has an Ed25519 key of another length')
  return { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }
}

const fingerprintOf = (blob: Uint8Array): string =>
  `SHA256:${withoutEnd(createHash('sha256').update(blob).digest('base64'), /=/)}`

/** A line of a .pub file; anything after the key is a comment. */
export function parseSshKey(line: string): SshKey {
  const [type = '', text = ''] = line.trim().split(/[ \t]+/)
  if (text === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    throw new Malformed('is not a line such as ssh-ed25519 AAAA…')
  const key = sshKey(Buffer.from(text, 'base64'))
  if (key.type !== type) throw new Malformed(`names the type ${type.slice(0, 64)} and holds ${key.type}`)
  return key
}
