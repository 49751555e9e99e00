// Keys and certificate signing requests (PKCS #10), for whoever gets a client certificate from a cluster. Written by hand from a dozen DER values:
// a library for all of X.509 costs every agent ten megabytes and as much time as the rest of its start.
import { createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'

export interface RequestSubject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

/** A new private key (ECDSA, P-256), in PEM. */
export async function newPrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

/** Tags of X.690. */
const INTEGER = 0x02
const BIT_STRING = 0x03
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const SEQUENCE = 0x30
const SET = 0x31
/** `[0] IMPLICIT`: the attributes of a request, of which there are none. */
const ATTRIBUTES = 0xa0

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length > 0xff_ff) throw new RangeError(`a name of ${length} bytes is too long for a signing request`)
  // Up to 127 the length is itself; beyond, the count of its bytes comes first.
  const bytes = length < 0x80 ? [length] : length < 0x1_00 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

const oid = (hex: string): Buffer => der(OBJECT_ID, Buffer.from(hex, 'hex'))
const COMMON_NAME = oid('550403') // 2.5.4.3
const ORGANIZATION = oid('55040a') // 2.5.4.10
const ECDSA_WITH_SHA256 = oid('2a8648ce3d040302') // 1.2.840.10045.4.3.2

const named = (type: Buffer, value: string): Buffer =>
  der(SET, der(SEQUENCE, type, der(UTF8_STRING, Buffer.from(value, 'utf8'))))

/** A request for a certificate over the key, in PEM. */
export async function signingRequest(key: string, { commonName, organizations = [] }: RequestSubject): Promise<string> {
  const privateKey = createPrivateKey(key)
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const subject = der(SEQUENCE, ...organizations.map((o) => named(ORGANIZATION, o)), named(COMMON_NAME, commonName))
  const version = der(INTEGER, Buffer.from([0]))
  const info = der(SEQUENCE, version, subject, publicKey, der(ATTRIBUTES))
  const unusedBits = Buffer.from([0])
  const signature = der(BIT_STRING, unusedBits, sign('sha256', info, privateKey))
  return pem('CERTIFICATE REQUEST', der(SEQUENCE, info, der(SEQUENCE, ECDSA_WITH_SHA256), signature))
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
