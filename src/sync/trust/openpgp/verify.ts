// Verifies a detached OpenPGP signature over bytes with the keys of known certificates: same as gpg --verify, without a program, a key ring or a trust model.
import type { SignaturePacket } from 'openpgp'
import { Malformed } from '../ssh-wire.ts'
import type { PgpSigningKey } from './certificate.ts'
import { isUnread, mismatchOf, openpgp, packetsIn, PGP_SIGNATURE, weaknessOf } from './packets.ts'

export const PGP_BEGIN = `-----BEGIN ${PGP_SIGNATURE}-----`

export type PgpVerdict =
  | { readonly kind: 'By'; readonly key: string }
  /** It can be verified only with the key itself. */
  | { readonly kind: 'Unknown'; readonly key: string }

/** Throws Malformed when it is not a signature, or not one over these bytes by the key that it names. */
export async function verifyPgpSignature(
  armored: string,
  message: Uint8Array,
  keys: readonly PgpSigningKey[],
): Promise<PgpVerdict> {
  const signature = await parseDetached(armored)
  const issuer = issuerOf(signature)
  if (issuer === '') throw new Malformed('names no key')
  const named = keys.filter(({ fingerprint }) => fingerprint.endsWith(issuer))
  if (named.length === 0) return { kind: 'Unknown', key: issuer }
  const { createMessage, enums } = await openpgp()
  const [literal = {}] = (await createMessage({ binary: message })).packets
  let mismatch = ''
  for (const { key, name } of named) {
    const found = await mismatchOf(key, signature, enums.signature.binary, literal)
    if (found === undefined) return { kind: 'By', key: name }
    mismatch = found
  }
  throw new Malformed(mismatch)
}

const FINGERPRINT_BYTES = 20

/** A fingerprint, or its last 16 digits, in capitals: a hint. */
function issuerOf({ issuerFingerprint, issuerKeyID }: SignaturePacket): string {
  const id = issuerKeyID.toHex().toUpperCase()
  if (issuerFingerprint?.length !== FINGERPRINT_BYTES) return id
  const fingerprint = Buffer.from(issuerFingerprint).toString('hex').toUpperCase()
  if (!fingerprint.endsWith(id)) throw new Malformed('names two keys')
  return fingerprint
}

async function parseDetached(armored: string): Promise<SignaturePacket> {
  const packets = await packetsIn(armored, PGP_SIGNATURE)
  const [packet] = packets
  if (packets.length !== 1 || packet === undefined)
    throw new Malformed(`holds ${packets.length} packets instead of one signature`)
  if (isUnread(packet)) throw new Malformed('has a version or form that is not known')
  const signature = packet as SignaturePacket
  const weakness = weaknessOf(signature)
  if (weakness !== undefined) throw new Malformed(weakness)
  const { enums } = await openpgp()
  if (signature.signatureType !== enums.signature.binary)
    throw new Malformed(`is an OpenPGP signature of type ${signature.signatureType}, not of bytes`)
  // An expiry cannot be checked: dates inside a commit do not count.
  if (!signature.signatureNeverExpires)
    throw new Malformed('is one that expires; sign without ask-sig-expire and default-sig-expire of gpg')
  return signature
}
