// Secret values for one machine: sealed to its agent's published key, bound to their place, unreadable to any program in between. X25519 with a fresh key per
// value, HKDF-SHA256, AES-256-GCM; the format is `v1.<key name>.<base64url>`.
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'
import { keyName } from './sealed-names.ts'

/** The place a value is bound to. It does not open for another machine, component or path. */
export interface SealedPlace {
  readonly machine: string
  readonly component: string
  /** Its path in the configuration's values. */
  readonly path: string
}

export interface SealingKey {
  /** PEM; never leaves the machine. */
  readonly privateKey: string
  /** For `Machine.status.agent.publicKey`. */
  readonly publicKey: string
}

const RAW_KEY = 32
const NONCE = 12
const TAG = 16
/** DER prefix of an X25519 key before its 32 bytes (RFC 8410). */
const SPKI = Buffer.from('302a300506032b656e032100', 'hex')

const MAX_SEALED_CHARS = 128 * 1_024

export function newSealingKey(): SealingKey {
  const { privateKey } = generateKeyPairSync('x25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  return { privateKey: pem, publicKey: publicKeyOf(pem) }
}

export const publicKeyOf = (privateKey: string): string =>
  rawOf(createPublicKey(createPrivateKey(privateKey))).toString('base64')

const rawOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' }).subarray(-RAW_KEY)

const publicFrom = (raw: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })

const bound = ({ machine, component, path }: SealedPlace): Buffer =>
  Buffer.from(['kubenode-sealed-v1', machine, component, path].map((part) => JSON.stringify(part)).join('\n'))

const secretOf = (own: KeyObject, theirs: KeyObject, ephemeral: Buffer, recipient: Buffer): Buffer =>
  Buffer.from(
    hkdfSync(
      'sha256',
      diffieHellman({ privateKey: own, publicKey: theirs }),
      Buffer.concat([ephemeral, recipient]),
      'kubenode-sealed-v1',
      32,
    ),
  )

/** Throws for an invalid key. */
export function seal(publicKey: string, place: SealedPlace, value: string): string {
  const recipient = Buffer.from(publicKey, 'base64')
  if (recipient.length !== RAW_KEY) throw new RangeError(`a sealing key has ${RAW_KEY} bytes, not ${recipient.length}`)
  const { privateKey, publicKey: own } = generateKeyPairSync('x25519')
  const ephemeral = rawOf(own)
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', secretOf(privateKey, publicFrom(recipient), ephemeral, recipient), nonce)
  cipher.setAAD(bound(place))
  const body = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return `v1.${keyName(publicKey)}.${Buffer.concat([ephemeral, nonce, body, cipher.getAuthTag()]).toString('base64url')}`
}

export type Opened =
  | { readonly kind: 'Opened'; readonly value: string }
  | { readonly kind: 'Refused'; readonly reason: string }

/** Reports why it does not open, never its content. */
export function openSealed(privateKey: string, place: SealedPlace, sealed: string): Opened {
  const [version, name, body, ...rest] = sealed.split('.')
  const bytes = Buffer.from(body ?? '', 'base64url')
  if (version !== 'v1' || rest.length > 0 || sealed.length > MAX_SEALED_CHARS || bytes.length < RAW_KEY + NONCE + TAG)
    return { kind: 'Refused', reason: 'it is not a sealed value' }
  const publicKey = publicKeyOf(privateKey)
  if (name !== keyName(publicKey))
    return { kind: 'Refused', reason: `it was sealed to key ${name}, but the current key is ${keyName(publicKey)}` }
  try {
    const [ephemeral, nonce] = [bytes.subarray(0, RAW_KEY), bytes.subarray(RAW_KEY, RAW_KEY + NONCE)]
    const recipient = Buffer.from(publicKey, 'base64')
    const key = secretOf(createPrivateKey(privateKey), publicFrom(ephemeral), ephemeral, recipient)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
    decipher.setAAD(bound(place))
    decipher.setAuthTag(bytes.subarray(-TAG))
    const text = Buffer.concat([decipher.update(bytes.subarray(RAW_KEY + NONCE, -TAG)), decipher.final()])
    return { kind: 'Opened', value: text.toString('utf8') }
  } catch {
    return { kind: 'Refused', reason: 'it was changed, or belongs to another machine, component or path' }
  }
}
