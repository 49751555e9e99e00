// How a public key is known: SHA-256 of its SubjectPublicKeyInfo, in hex.
import { sha256Hex } from './sha256.ts'
import { createPrivateKey, createPublicKey } from 'node:crypto'

/** Of the public half of a private key in PEM. */
export const fingerprintOfKey = (key: string): string =>
  sha256Hex(createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }))
