// Keys and certificate signing requests (PKCS #10) for programs that get a client certificate from a cluster. Hand-written from a dozen DER values: a full
// X.509 library would cost every agent ten megabytes and double its startup time.
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

/** `[0] IMPLICIT`: the attributes of a request, which are empty. */
const ATTRIBUTES = 0xa0

const ECDSA_WITH_SHA256 = objectId(ID.ecdsaWithSha256)

/** A certificate request for the key, in PEM. */
export async function signingRequest(key: string, of: Subject): Promise<string> {
  const privateKey = createPrivateKey(key)
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const subject = encodedName(of)
  const version = der(TAG.integer, Buffer.from([0]))
  const info = sequence(version, subject, publicKey, der(ATTRIBUTES))
  const signature = bitString(sign('sha256', info, privateKey))
  return pem('CERTIFICATE REQUEST', sequence(info, sequence(ECDSA_WITH_SHA256), signature))
}
