// How a public key is known: SHA-256 of its SubjectPublicKeyInfo, in hex.
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto'

export const fingerprintOfSpki = (spki: Uint8Array): string => createHash('sha256').update(spki).digest('hex')

/** Of the public half of a private key in PEM. */
export const fingerprintOfKey = (key: string): string =>
  fingerprintOfSpki(createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }))
