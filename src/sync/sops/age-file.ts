// Opens a small age file (age-encryption.org/v1) with X25519 identities: what sops stores the key of a document in.
import { createDecipheriv, createHmac, diffieHellman, hkdfSync, timingSafeEqual } from 'node:crypto'
import { x25519PublicKey, type AgeIdentity } from './age-identity.ts'
import { withoutEnd } from '#lib/without-ends.ts'

const VERSION = 'age-encryption.org/v1'
const BEGIN = '-----BEGIN AGE ENCRYPTED FILE-----'
const END = '-----END AGE ENCRYPTED FILE-----'
/** A key of 32 bytes for one recipient takes 500; one in place of it with many stanzas is refused before any curve is computed. */
const MAX_ARMOR_CHARS = 16 * 1024
const MAX_STANZAS = 32
const TAG_BYTES = 16
const NONCE_BYTES = 16
/** Larger payloads have several chunks; a key has one. */
const MAX_PAYLOAD_BYTES = 64 * 1024

interface Stanza {
  readonly words: readonly string[]
  readonly body: Buffer
}

/** Throws for a file that is none or was changed; undefined when no identity fits. */
export function openAgeFile(armored: string, identities: readonly AgeIdentity[]): Buffer | undefined {
  const { stanzas, signed, mac, payload } = parseAge(fromArmor(armored))
  for (const stanza of stanzas)
    for (const identity of identities) {
      const fileKey = unwrapped(stanza, identity)
      if (fileKey === undefined) continue
      const expected = createHmac('sha256', derived(fileKey, Buffer.alloc(0), 'header'))
        .update(signed)
        .digest()
      if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) throw new Error('its header was changed')
      return opened(fileKey, payload)
    }
  return undefined
}

const derived = (key: Buffer, salt: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, 32))

function unwrapped({ words: [type, share = '', ...rest], body }: Stanza, identity: AgeIdentity): Buffer | undefined {
  if (type !== 'X25519') return undefined
  const raw = base64(share)
  if (raw?.length !== 32 || rest.length > 0 || body.length !== 32) throw new Error('its X25519 stanza is malformed')
  const shared = sharedSecret(identity, raw)
  const wrap = derived(shared, Buffer.concat([raw, identity.publicKey]), `${VERSION}/X25519`)
  return decrypt(wrap, Buffer.alloc(12), body)
}

/** A share of low order gives zeros for every key; OpenSSL refuses it. */
function sharedSecret({ key }: AgeIdentity, share: Buffer): Buffer {
  try {
    return diffieHellman({ privateKey: key, publicKey: x25519PublicKey(share) })
  } catch (cause) {
    throw new Error('its X25519 share is no point', { cause })
  }
}

function decrypt(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    // Sealed with another key.
    return undefined
  }
}

/** One chunk, which is the last. */
function opened(fileKey: Buffer, payload: Buffer): Buffer {
  if (payload.length < NONCE_BYTES + TAG_BYTES || payload.length > MAX_PAYLOAD_BYTES)
    throw new Error('its payload has a length that no key has')
  const key = derived(fileKey, payload.subarray(0, NONCE_BYTES), 'payload')
  const last = Buffer.concat([Buffer.alloc(11), Buffer.from([1])])
  const plain = decrypt(key, last, payload.subarray(NONCE_BYTES))
  if (plain === undefined) throw new Error('its payload was changed')
  return plain
}

function fromArmor(text: string): Buffer {
  if (text.length > MAX_ARMOR_CHARS) throw new Error(`has more than ${MAX_ARMOR_CHARS} characters`)
  const lines = text.trim().split(/\r?\n/)
  const bytes = lines[0] === BEGIN && lines.at(-1) === END ? base64(lines.slice(1, -1).join('')) : undefined
  if (bytes === undefined) throw new Error('is no armored age file')
  return bytes
}

function parseAge(bytes: Buffer) {
  let at = 0
  const line = (): string => {
    const end = bytes.indexOf(10, at)
    if (end === -1) throw new Error('ends in its header')
    const text = bytes.toString('latin1', at, end)
    at = end + 1
    return text
  }
  if (line() !== VERSION) throw new Error(`is not of ${VERSION}`)
  const stanzas: Stanza[] = []
  for (let text = line(); ; text = line()) {
    if (text.startsWith('--- ')) {
      const mac = base64(text.slice(4))
      if (mac === undefined) throw new Error('has a header without a MAC')
      const signed = bytes.subarray(0, at - text.length - 1 + 3)
      return { stanzas, signed, mac, payload: bytes.subarray(at) }
    }
    if (!text.startsWith('-> ') || stanzas.length >= MAX_STANZAS) throw new Error('has a malformed header')
    stanzas.push({ words: text.slice(3).split(' '), body: bodyOf(line) })
  }
}

const BODY_COLUMNS = 64

/** Lines of 64 characters, and a shorter one at the end. */
function bodyOf(line: () => string): Buffer {
  let body = ''
  for (let text = line(); ; text = line()) {
    body += text
    if (text.length > BODY_COLUMNS) throw new Error('has a malformed stanza')
    if (text.length < BODY_COLUMNS) break
  }
  const bytes = base64(body)
  if (bytes === undefined) throw new Error('has a malformed stanza')
  return bytes
}

/** With or without padding; any other text is none. */
export function base64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  const padded = bytes.toString('base64')
  return text === padded || text === withoutEnd(padded, /=/) ? bytes : undefined
}
