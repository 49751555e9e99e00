// Writes files as `sops --encrypt --age` does, after the description of its format: for tests, where a file must be encrypted to a key of the test.
import {
  createCipheriv,
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto'
import { sha256 } from '#lib/sha256.ts'

/** Made by age-keygen 1.1.1 for these tests. */
export const AGE_KEY = 'AGE-SECRET-KEY-1S3DYV4Z986VUJC2Q8H87V8PZNCTQNS9WZKPH6CLYFMFDUGRTPW3SPP4SDN'
export const AGE_RECIPIENT = 'age178we3mtl5pxk5zretke8dw4xldy9s4266sq85c6cz75gslu68pjqu27snl'
/** The bytes that the recipient is the text of. */
export const AGE_PUBLIC_KEY = Buffer.from('f1dd98ed7fa04d6a08795db276baa6fb4858555ad4007a635817a8887f9a3864', 'hex')

type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }
type Map_ = { readonly [key: string]: Value }

export interface SopsOptions {
  readonly rules?: Map_
  readonly isEncrypted?: (path: readonly string[]) => boolean
  readonly macOnlyEncrypted?: boolean
}

const LAST_MODIFIED = '2026-11-22T07:00:00Z'
export const DATA_REGEX = '^(data|stringData)$'

/** As the object that a file holds, so that a test can change it before it is written. */
export function sopsObject(document: Map_, options: SopsOptions = {}): Record<string, Value> {
  const {
    rules = { encrypted_regex: DATA_REGEX },
    isEncrypted = (path) => path.some((key) => key === 'data' || key === 'stringData'),
    macOnlyEncrypted = false,
  } = options
  const key = randomBytes(32)
  const mac = createHash('sha512')
  if (macOnlyEncrypted) mac.update(sha256('sops'))
  const walk = (value: Value, path: readonly string[]): Value => {
    if (value === null) return null
    if (Array.isArray(value)) return (value as readonly Value[]).map((item) => walk(item, path))
    if (typeof value === 'object')
      return Object.fromEntries(Object.entries(value as Map_).map(([k, v]) => [k, walk(v, [...path, k])]))
    const text = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value)
    if (isEncrypted(path) || !macOnlyEncrypted) mac.update(text)
    const type = typeof value === 'string' ? 'str' : typeof value === 'boolean' ? 'bool' : 'int'
    return isEncrypted(path) && text !== '' ? sealed(key, text, `${path.join(':')}:`, type) : value
  }
  const tree = walk(document, []) as Record<string, Value>
  return {
    ...tree,
    sops: {
      age: [{ recipient: AGE_RECIPIENT, enc: ageFile(key, AGE_PUBLIC_KEY) }],
      lastmodified: LAST_MODIFIED,
      mac: sealed(key, mac.digest('hex').toUpperCase(), LAST_MODIFIED, 'str'),
      ...rules,
      ...(macOnlyEncrypted && { mac_only_encrypted: true }),
      version: '3.10.2',
    },
  }
}

/** As JSON with tabs, which sops writes; YAML readers read it, too. */
export const sopsText = (document: Map_, options?: SopsOptions): string =>
  `${JSON.stringify(sopsObject(document, options), undefined, '\t')}\n`

function sealed(key: Buffer, text: string, context: string, type: string): string {
  const iv = randomBytes(32)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(context))
  const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  const b64 = (bytes: Buffer) => bytes.toString('base64')
  return `ENC[AES256_GCM,data:${b64(data)},iv:${b64(iv)},tag:${b64(cipher.getAuthTag())},type:${type}]`
}

/** DER around 32 raw bytes (RFC 8410). */
const SPKI = Buffer.from('302a300506032b656e032100', 'hex')
const x25519PublicKey = (raw: Buffer) =>
  createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' })

export function ageFile(plain: Buffer, recipient: Buffer): string {
  const fileKey = randomBytes(16)
  const own = generateKeyPairSync('x25519')
  const share = createPublicKey(own.privateKey).export({ format: 'der', type: 'spki' }).subarray(-32)
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: x25519PublicKey(recipient) })
  const wrap = derived(shared, Buffer.concat([share, recipient]), 'age-encryption.org/v1/X25519')
  const body = chacha(wrap, Buffer.alloc(12), fileKey)
  const raw = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const header = `age-encryption.org/v1\n-> X25519 ${raw(share)}\n${raw(body)}\n---`
  const mac = createHmac('sha256', derived(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest()
  const nonce = randomBytes(16)
  const payload = chacha(derived(fileKey, nonce, 'payload'), Buffer.concat([Buffer.alloc(11), Buffer.from([1])]), plain)
  const bytes = Buffer.concat([Buffer.from(`${header} ${raw(mac)}\n`), nonce, payload])
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN AGE ENCRYPTED FILE-----\n${lines.join('\n')}\n-----END AGE ENCRYPTED FILE-----\n`
}

const derived = (key: Buffer, salt: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, 32))

function chacha(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}
