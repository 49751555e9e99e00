// A request for a certificate (PKCS #10) as it was posted: read strictly, its signature checked. What cannot be read throws.
import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { bytesOfPem, inside, objectId, readDer, TAG, type DerValue } from '#lib/der.ts'
import { readName } from './distinguished-name.ts'

export interface SigningRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly otherNames: boolean
  readonly signatureValid: boolean
}

/** The parts of a request that go into its certificate as they stand. */
export interface RequestParts {
  readonly subject: DerValue
  /** SubjectPublicKeyInfo. */
  readonly publicKey: DerValue
  /** The extension with the alternative names. */
  readonly alternativeNames: DerValue | undefined
  readonly signatureValid: boolean
}

/** `[0]`: the attributes of a request. */
const ATTRIBUTES = 0xa0
const EXTENSION_REQUEST = objectId('2a864886f70d01090e') // 1.2.840.113549.1.9.14
const ALTERNATIVE_NAMES = objectId('551d11') // 2.5.29.17

export function requestParts(requestPem: string): RequestParts {
  const [request, ...rest] = readDer(bytesOfPem(requestPem, 'CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'))
  const [info, algorithm, signature] = inside(request)
  const [version, subject, publicKey, attributes] = inside(info)
  if (rest.length > 0 || version?.tag !== TAG.integer || subject === undefined || publicKey === undefined)
    throw new SyntaxError('not a certificate request')
  return {
    subject,
    publicKey,
    alternativeNames: requestedExtensions(attributes).find((e) => inside(e)[0]?.whole.equals(ALTERNATIVE_NAMES)),
    signatureValid: isSigned({ info, algorithm, signature }, publicKey),
  }
}

function requestedExtensions(attributes: DerValue | undefined): readonly DerValue[] {
  if (attributes === undefined) return []
  return inside(attributes, ATTRIBUTES).flatMap((attribute) => {
    const [type, values] = inside(attribute)
    if (type?.whole.equals(EXTENSION_REQUEST) !== true) return []
    return inside(values, TAG.set).flatMap((extensions) => inside(extensions))
  })
}

/** By the object identifier of the algorithm; anything else counts as not signed. */
const ALGORITHMS: ReadonlyMap<string, { readonly key: string; readonly hash: string | null }> = new Map([
  ['2a8648ce3d040302', { key: 'ec', hash: 'sha256' }],
  ['2a8648ce3d040303', { key: 'ec', hash: 'sha384' }],
  ['2a8648ce3d040304', { key: 'ec', hash: 'sha512' }],
  ['2a864886f70d01010b', { key: 'rsa', hash: 'sha256' }],
  ['2a864886f70d01010c', { key: 'rsa', hash: 'sha384' }],
  ['2a864886f70d01010d', { key: 'rsa', hash: 'sha512' }],
  ['2b6570', { key: 'ed25519', hash: null }],
])

interface Signed {
  readonly info: DerValue | undefined
  readonly algorithm: DerValue | undefined
  readonly signature: DerValue | undefined
}

function isSigned({ info, algorithm, signature }: Signed, publicKey: DerValue): boolean {
  const [id] = inside(algorithm)
  const known = id?.tag === TAG.objectId ? ALGORITHMS.get(id.content.toString('hex')) : undefined
  if (known === undefined || info === undefined || signature?.tag !== TAG.bitString || signature.content[0] !== 0)
    return false
  const key = keyOf(publicKey)
  if (key === undefined || key.asymmetricKeyType !== known.key) return false
  return verify(known.hash, info.whole, key, signature.content.subarray(1))
}

/** Undefined: of a kind that nothing here knows, or no key at all. */
function keyOf({ whole }: DerValue): KeyObject | undefined {
  try {
    return createPublicKey({ key: whole, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** Implicit tags of GeneralName. */
const DNS_NAME = 0x82
const IP_ADDRESS = 0x87

export function readSigningRequest(requestPem: string): SigningRequest {
  const { subject, alternativeNames, signatureValid } = requestParts(requestPem)
  const names = alternativeNames === undefined ? [] : generalNames(alternativeNames)
  return {
    ...readName(subject),
    dnsNames: names.filter((n) => n.tag === DNS_NAME).map((n) => n.content.toString('latin1')),
    ipAddresses: names.filter((n) => n.tag === IP_ADDRESS).map((n) => addressText(n.content)),
    otherNames: names.some((n) => n.tag !== DNS_NAME && n.tag !== IP_ADDRESS),
    signatureValid,
  }
}

/** An extension is its identifier, whether it is critical, and a value in an octet string. */
function generalNames(extension: DerValue): readonly DerValue[] {
  const value = inside(extension).at(-1)
  if (value?.tag !== TAG.octetString) throw new SyntaxError('an extension without a value')
  const [names, ...rest] = readDer(value.content)
  if (rest.length > 0) throw new SyntaxError('more than one value in an extension')
  return inside(names)
}

const IPV4_BYTES = 4
const IPV6_BYTES = 16

function addressText(bytes: Buffer): string {
  if (bytes.length === IPV4_BYTES) return bytes.join('.')
  if (bytes.length !== IPV6_BYTES) throw new SyntaxError(`an IP address of ${bytes.length} bytes`)
  return Array.from({ length: IPV6_BYTES / 2 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(':')
}
