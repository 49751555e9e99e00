// A public key's fingerprint: SHA-256 of its SubjectPublicKeyInfo, in hex.
import { sha256Hex } from './sha256.ts'
import { createPrivateKey, createPublicKey } from 'node:crypto'

/** For the public half of a PEM private key. */
export const fingerprintOfKey = (key: string): string =>
  sha256Hex(createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }))
