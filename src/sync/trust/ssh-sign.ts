// Signs bytes like ssh-keygen -Y sign -n git, with an Ed25519 key in OpenSSH's own format: what git puts into a signed commit.
import { createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { SSH_BEGIN, SSH_END, signedData, VERSION } from './ssh-signature.ts'
import { sshKey } from './ssh-key.ts'
import { Malformed, WireReader, wireString } from './ssh-wire.ts'

export interface SigningKey {
  readonly key: KeyObject
  /** The public key, as it appears in signatures. */
  readonly blob: Buffer
  readonly fingerprint: string
}

const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----'
const END = '-----END OPENSSH PRIVATE KEY-----'
const MAGIC = 'openssh-key-v1\0'
const TYPE = 'ssh-ed25519'
const SEED_BYTES = 32
const HASH = 'sha512'
const LINE_CHARS = 70

/** Throws Malformed with the rest of a sentence about the key, without any part of the key. */
export function parseSigningKey(text: string): SigningKey {
  const trimmed = text.trim()
  if (!trimmed.startsWith(BEGIN) || !trimmed.endsWith(END)) throw new Malformed('is not a private key of OpenSSH')
  const base64 = trimmed.slice(BEGIN.length, -END.length).replaceAll(/\s/g, '')
  const reader = new WireReader(Buffer.from(base64, 'base64'))
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) throw new Malformed('is not a private key of OpenSSH')
  const [cipher, kdf] = [reader.text(), reader.text()]
  reader.string()
  if (cipher !== 'none' || kdf !== 'none') throw new Malformed('has a passphrase; sync needs a key without one')
  if (reader.number() !== 1) throw new Malformed('holds several keys')
  const blob = reader.string()
  const { type, fingerprint } = sshKey(blob)
  if (type !== TYPE) throw new Malformed(`is a ${type} key; sync signs with Ed25519`)
  const secret = new WireReader(reader.string())
  if (secret.number() !== secret.number()) throw new Malformed('is damaged')
  if (secret.text() !== TYPE) throw new Malformed('is damaged')
  const [x, pair] = [secret.string(), secret.string()]
  if (pair.length !== 2 * SEED_BYTES || !pair.subarray(SEED_BYTES).equals(x)) throw new Malformed('is damaged')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }
  const d = pair.subarray(0, SEED_BYTES).toString('base64url')
  return { key: createPrivateKey({ key: { ...jwk, d }, format: 'jwk' }), blob, fingerprint }
}

/** Armored. The same bytes give the same signature. */
export function sshSignature({ key, blob }: SigningKey, message: Uint8Array): string {
  const digest = createHash(HASH).update(message).digest()
  const signature = sign(null, signedData(HASH, digest), key)
  const version = Buffer.alloc(4)
  version.writeUInt32BE(VERSION)
  const whole = Buffer.concat([
    Buffer.from('SSHSIG'),
    version,
    ...[blob, 'git', '', HASH, Buffer.concat([wireString(TYPE), wireString(signature)])].map(wireString),
  ]).toString('base64')
  const lines = whole.match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  return [SSH_BEGIN, ...lines, SSH_END].join('\n')
}
