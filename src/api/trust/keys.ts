// Ed25519 keys in exchangeable forms: a private PEM file, a public key of 32 bytes in base64, and a short id derived from it.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { KubeNodeError } from '#lib/errors.ts'
import { apiErrors } from '../api-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface PublicKey {
  readonly keyId: string
  /** The key's 32 bytes in base64. */
  readonly publicKey: string
}

export interface Signature {
  readonly keyId: string
  readonly value: string
}

const RAW_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** SPKI's wrapping of an ed25519 key: twelve fixed bytes before the raw ones. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** Sixteen hex digits are enough to distinguish keys; signatures are verified with the whole key. */
export const keyIdOf = (publicKey: string): string => sha256Hex(Buffer.from(publicKey, 'base64')).slice(0, 16)

const describePublic = (key: KeyObject): PublicKey => {
  const publicKey = key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64')
  return { keyId: keyIdOf(publicKey), publicKey }
}

export function generateKey(): { readonly pem: string; readonly publicKey: PublicKey } {
  const pair = generateKeyPairSync('ed25519')
  return {
    pem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKey: describePublic(pair.publicKey),
  }
}

export class Signer {
  readonly publicKey: PublicKey
  readonly #key: KeyObject

  /** `pem` is an unencrypted PKCS#8 ed25519 key. */
  constructor(pem: string) {
    try {
      this.#key = createPrivateKey(pem)
    } catch (cause) {
      throw new KubeNodeError(apiErrors.KN5101(), { cause })
    }
    if (this.#key.asymmetricKeyType !== 'ed25519') {
      throw new KubeNodeError(apiErrors.KN5101_type({ type: String(this.#key.asymmetricKeyType) }))
    }
    this.publicKey = describePublic(createPublicKey(this.#key))
  }

  sign(bytes: Buffer): Signature {
    return { keyId: this.publicKey.keyId, value: sign(null, bytes, this.#key).toString('base64') }
  }
}

/** False for anything malformed; never throws. */
export function isSignedBy(bytes: Buffer, signature: Signature, { keyId, publicKey }: PublicKey): boolean {
  const raw = Buffer.from(publicKey, 'base64')
  const value = Buffer.from(signature.value, 'base64')
  // The id is computed, not trusted: a document cannot give an unknown key a trusted name.
  if (signature.keyId !== keyId || keyId !== keyIdOf(publicKey)) return false
  if (raw.length !== RAW_KEY_BYTES || value.length !== SIGNATURE_BYTES) return false
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), type: 'spki', format: 'der' })
    return verify(null, bytes, key, value)
  } catch {
    return false
  }
}

/** Distinct keys of the list that really signed these bytes. */
export function signersOf(
  bytes: Buffer,
  signatures: readonly Signature[],
  keys: readonly PublicKey[],
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const s of signatures) {
    const key = keys.find((k) => k.keyId === s.keyId)
    if (key !== undefined && isSignedBy(bytes, s, key)) found.add(key.publicKey)
  }
  return found
}
