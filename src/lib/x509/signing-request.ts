// Keys and certificate signing requests (PKCS #10) for programs that get a client certificate from a cluster. Written by hand from a dozen DER values: a
// library for all of X.509 costs every agent ten megabytes and as much time as the rest of its start.
import { createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { bitString, der, objectId, pem, sequence, TAG } from './der.ts'
import { ID } from './object-ids.ts'
import { encodedName, type Subject } from './name.ts'

/** A new private key (ECDSA, P-256), in PEM. */
export async function newPrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

/** `[0] IMPLICIT`: the attributes of a request, of which there are none. */
const ATTRIBUTES = 0xa0

const ECDSA_WITH_SHA256 = objectId(ID.ecdsaWithSha256)

/** A request for a certificate over the key, in PEM. */
export async function signingRequest(key: string, of: Subject): Promise<string> {
  const privateKey = createPrivateKey(key)
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const subject = encodedName(of)
  const version = der(TAG.integer, Buffer.from([0]))
  const info = sequence(version, subject, publicKey, der(ATTRIBUTES))
  const signature = bitString(sign('sha256', info, privateKey))
  return pem('CERTIFICATE REQUEST', sequence(info, sequence(ECDSA_WITH_SHA256), signature))
}
