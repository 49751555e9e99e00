// Parses a posted certificate request (PKCS #10) strictly and checks its signature. Throws if it cannot be parsed.
import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { bytesOfOnlyPem, der, dottedId, inside, objectId, readDer, TAG, type DerValue } from './der.ts'
import { ID } from './object-ids.ts'
import { readName } from './name.ts'

export interface SigningRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly otherNames: boolean
  /** Why it cannot be signed: its key or signature is not acceptable. */
  readonly problem: string | undefined
}

/** The parts of a request that are copied into its certificate. */
export interface RequestParts {
  readonly subject: DerValue
  /** SubjectPublicKeyInfo. */
  readonly publicKey: DerValue
  /** The extension with alternative names. */
  readonly alternativeNames: DerValue | undefined
  /** Identifiers of all requested extensions, in dotted form. */
  readonly extensions: readonly string[]
  /** Why it cannot be signed: its key or signature is not acceptable. */
  readonly problem: string | undefined
}

/** `[0]`: the attributes of a request. */
const ATTRIBUTES = 0xa0
const EXTENSION_REQUEST = objectId(ID.extensionRequest)
const ALTERNATIVE_NAMES = objectId(ID.alternativeNames)

/** Version 1 is encoded as 0. */
const VERSION = der(TAG.integer, Buffer.from([0]))

/** Requests have about 400 bytes, with many names a few thousand; longer ones would only waste time. */
const MOST_CHARACTERS = 65_536

export function requestParts(requestPem: string): RequestParts {
  if (requestPem.length > MOST_CHARACTERS) throw new SyntaxError(`a request of ${requestPem.length} characters`)
  const [request, ...rest] = readDer(bytesOfOnlyPem(requestPem, 'CERTIFICATE REQUEST'))
  const [info, algorithm, signature, ...more] = inside(request)
  const [version, subject, publicKey, attributes, ...beyond] = inside(info)
  if (rest.length + more.length + beyond.length > 0) throw new SyntaxError('more than a certificate request')
  if (version?.whole.equals(VERSION) !== true || subject === undefined || publicKey === undefined)
    throw new SyntaxError('not a certificate request')
  const extensions = requestedExtensions(attributes)
  return {
    subject,
    publicKey,
    alternativeNames: extensions.get(ALTERNATIVE_NAMES.toString('hex')),
    extensions: [...extensions.values()].map((extension) => dottedId(inside(extension)[0])),
    problem: problemOf({ info, algorithm, signature }, publicKey),
  }
}

/** By identifier. With two of a kind, another reader may use the other one. */
function requestedExtensions(attributes: DerValue | undefined): ReadonlyMap<string, DerValue> {
  const found = new Map<string, DerValue>()
  for (const attribute of attributes === undefined ? [] : inside(attributes, ATTRIBUTES)) {
    const [type, values] = inside(attribute)
    if (type?.whole.equals(EXTENSION_REQUEST) !== true) continue
    for (const extension of inside(values, TAG.set).flatMap((list) => inside(list))) {
      const id = inside(extension)[0]?.whole.toString('hex') ?? ''
      if (found.has(id)) throw new SyntaxError('an extension that is asked for twice')
      found.set(id, extension)
    }
  }
  return found
}

interface Algorithm {
  readonly key: string
  readonly hash: string | null
}

/** By the algorithm's object identifier. Others, such as those with MD5 or SHA-1, are not accepted. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  [ID.ecdsaWithSha256, { key: 'ec', hash: 'sha256' }],
  [ID.ecdsaWithSha384, { key: 'ec', hash: 'sha384' }],
  [ID.ecdsaWithSha512, { key: 'ec', hash: 'sha512' }],
  [ID.rsaWithSha256, { key: 'rsa', hash: 'sha256' }],
  [ID.rsaWithSha384, { key: 'rsa', hash: 'sha384' }],
  [ID.rsaWithSha512, { key: 'rsa', hash: 'sha512' }],
  [ID.ed25519, { key: 'ed25519', hash: null }],
])

interface Signed {
  readonly info: DerValue | undefined
  readonly algorithm: DerValue | undefined
  readonly signature: DerValue | undefined
}

const USE_SIGNATURES = 'use Ed25519, or ECDSA or RSA with SHA-256, SHA-384 or SHA-512'
const USE_KEYS = 'use P-256, P-384, P-521, Ed25519, or RSA of 2048 to 8192 bits'
const UNSIGNED = 'the signature does not match the key'

/** Checks the key first, so that a weak key is reported instead of the signature. */
function problemOf({ info, algorithm, signature }: Signed, publicKey: DerValue): string | undefined {
  const key = publicKeyOf(publicKey)
  if (key === undefined) return `the public key cannot be read; ${USE_KEYS}`
  const weak = keyProblem(key, publicKey)
  if (weak !== undefined) return `${weak} is not accepted; ${USE_KEYS}`
  const [id] = inside(algorithm)
  const known = id?.tag === TAG.objectId ? ALGORITHMS.get(id.content.toString('hex')) : undefined
  if (known === undefined) return `the algorithm of the signature is not accepted; ${USE_SIGNATURES}`
  if (info === undefined || signature?.tag !== TAG.bitString || signature.content[0] !== 0) return UNSIGNED
  if (key.asymmetricKeyType !== known.key) return UNSIGNED
  return verify(known.hash, info.whole, key, signature.content.subarray(1)) ? undefined : UNSIGNED
}

function publicKeyOf(publicKey: DerValue): KeyObject | undefined {
  try {
    return createPublicKey({ key: publicKey.whole, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** TLS curves. Some programs cannot parse certificates with others, and crash. */
const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
/** From NIST SP 800-57: 112 bits of security. */
const SHORTEST_RSA_BITS = 2_048
/** Go refuses longer ones in a handshake, because each costs it milliseconds. */
const LONGEST_RSA_BITS = 8_192
/** With 1, anyone can forge a signature; FIPS 186-5 starts here, and Go's limit is 31 bits. */
const SMALLEST_RSA_EXPONENT = 65_537n
const LARGEST_RSA_EXPONENT = 2n ** 31n - 1n

function keyProblem(key: KeyObject, publicKey: DerValue): string | undefined {
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  // Refuses any type that a library may add later.
  const type = String(key.asymmetricKeyType)
  switch (type) {
    case 'ed25519':
      return undefined
    case 'ec': {
      const [, parameters] = inside(inside(publicKey)[0])
      return parameters?.tag === TAG.objectId && CURVES.has(namedCurve) ? undefined : 'the elliptic curve of the key'
    }
    case 'rsa':
      if (modulusLength < SHORTEST_RSA_BITS || modulusLength > LONGEST_RSA_BITS)
        return `an RSA key of ${modulusLength} bits`
      return publicExponent >= SMALLEST_RSA_EXPONENT &&
        publicExponent <= LARGEST_RSA_EXPONENT &&
        publicExponent % 2n === 1n
        ? undefined
        : 'an RSA exponent that is even, below 65537 or above 31 bits'
    default:
      return `a key of type ${type}`
  }
}

/** Implicit tags of GeneralName. */
const DNS_NAME = 0x82
const IP_ADDRESS = 0x87

export function readSigningRequest(requestPem: string): SigningRequest {
  const { subject, alternativeNames, problem } = requestParts(requestPem)
  const { commonName, organizations } = readName(subject)
  const names = alternativeNames === undefined ? [] : generalNames(alternativeNames)
  return {
    commonName,
    organizations,
    dnsNames: names.filter((n) => n.tag === DNS_NAME).map((n) => visibleText(n.content)),
    ipAddresses: names.filter((n) => n.tag === IP_ADDRESS).map((n) => addressText(n.content)),
    otherNames: names.some((n) => n.tag !== DNS_NAME && n.tag !== IP_ADDRESS),
    problem,
  }
}

/** An extension is an identifier, a critical flag, and a value in an octet string. */
function generalNames(extension: DerValue): readonly DerValue[] {
  const [id, ...rest] = inside(extension)
  const value = rest.at(-1)
  if (id?.tag !== TAG.objectId || value?.tag !== TAG.octetString || rest.length > 2)
    throw new SyntaxError('an extension without a value')
  if (rest.length === 2 && rest[0]?.tag !== TAG.boolean) throw new SyntaxError('an extension with more than a value')
  const [names, ...others] = readDer(value.content)
  if (others.length > 0) throw new SyntaxError('more than one value in an extension')
  return inside(names)
}

const VISIBLE = /^[!-~]+$/

/** Some programs end a name at a zero byte, or treat a space as a separator. */
function visibleText(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (!VISIBLE.test(text)) throw new SyntaxError('a DNS name with characters that none has')
  return text
}

const IPV4_BYTES = 4
const IPV6_BYTES = 16

function addressText(bytes: Buffer): string {
  if (bytes.length === IPV4_BYTES) return bytes.join('.')
  if (bytes.length !== IPV6_BYTES) throw new SyntaxError(`an IP address of ${bytes.length} bytes`)
  return Array.from({ length: IPV6_BYTES / 2 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(':')
}
