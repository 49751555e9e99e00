// Verifies a detached OpenPGP signature over bytes with keys of known certificates: what gpg --verify does, without a program, a key ring or a trust model.
import { Malformed } from '../ssh-wire.ts'
import type { PgpSigningKey } from './certificate.ts'
import { PGP_SIGNATURE, packetsIn } from './packets.ts'
import { isSignedBy } from './public-key.ts'
import { parseSignature, signedBytes, type SignaturePacket } from './signature-packet.ts'

export const PGP_BEGIN = `-----BEGIN ${PGP_SIGNATURE}-----`

export type PgpVerdict =
  | { readonly kind: 'By'; readonly key: string }
  /** Only with the key itself can it be verified. */
  | { readonly kind: 'Unknown'; readonly key: string }

const SIGNATURE = 2
const OF_BYTES = 0x00

/** Throws Malformed when the signature is not one, or not of these bytes by the key that it names. */
export function verifyPgpSignature(armored: string, message: Uint8Array, keys: readonly PgpSigningKey[]): PgpVerdict {
  const signature = parseDetached(armored)
  const { issuer } = signature
  if (issuer === undefined) throw new Malformed('names no key')
  const named = keys.filter(({ key }) => key.fingerprint.endsWith(issuer))
  if (named.length === 0) return { kind: 'Unknown', key: issuer }
  if (signedBytes(signature, [message]) === undefined)
    throw new Malformed('does not match the content: its digest begins otherwise')
  const by = named.find(({ key }) => isSignedBy(key, signature, [message]))
  if (by === undefined) throw new Malformed('does not match the content')
  return { kind: 'By', key: by.name }
}

function parseDetached(armored: string): SignaturePacket {
  const packets = packetsIn(armored, PGP_SIGNATURE)
  const [packet] = packets
  if (packets.length !== 1 || packet?.tag !== SIGNATURE)
    throw new Malformed(`holds ${packets.length} packets instead of one signature`)
  const signature = parseSignature(packet.body)
  if (signature.type !== OF_BYTES)
    throw new Malformed(`is an OpenPGP signature of type ${signature.type}, not of bytes`)
  // Compared with what? Dates inside a commit do not count.
  if (signature.expiresAfterMs !== undefined)
    throw new Malformed('is one that expires; sign without ask-sig-expire and default-sig-expire of gpg')
  return signature
}
