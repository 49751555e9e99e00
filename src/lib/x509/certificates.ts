// Creates all certificates: authorities, server and client certificates, and signed requests. Built from a few dozen DER values; ADR 32 has the measurement
// that argues against a package.
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign as signed,
  X509Certificate,
} from 'node:crypto'
import { isIPv6 } from 'node:net'
import {
  bitString,
  bytesOfPem,
  der,
  inside,
  objectId,
  octets,
  pem,
  readDer,
  sequence,
  TAG,
  type DerValue,
} from './der.ts'
import { encodedName, repeatedName, type Subject } from './name.ts'
import { ID } from './object-ids.ts'
import { requestParts } from './read-request.ts'

const DAY_MS = 86_400_000
/** Verifiers' clocks may be behind this one. */
const EARLIER_MS = 5 * 60_000

export interface KeyAndCertificate {
  /** PEM. */
  readonly key: string
  readonly certificate: string
}

export interface Validity {
  readonly now: number
  readonly days: number
  /** How far before now its validity starts; five minutes if left out. */
  readonly earlierMs?: number
}

const ECDSA_WITH_SHA256 = sequence(objectId(ID.ecdsaWithSha256))
const RSA_WITH_SHA256 = sequence(objectId(ID.rsaWithSha256), der(0x05)) // NULL

/** Explicit tags of a certificate: its version, its extensions. */
const VERSION = 0xa0
const EXTENSIONS = 0xa3
const VERSION_3 = der(VERSION, der(TAG.integer, Buffer.from([2])))

const TRUE = der(TAG.boolean, Buffer.from([0xff]))
const SUBJECT_KEY = objectId(ID.subjectKey)

const extension = (id: Buffer, value: Buffer): Buffer => sequence(id, octets(value))
const critical = (id: Buffer, value: Buffer): Buffer => sequence(id, TRUE, octets(value))

/** KubeNode's authorities sign server and client certificates, never other authorities. */
const NO_AUTHORITY_BELOW = der(TAG.integer, Buffer.from([0]))

const basicConstraints = (isAuthority: boolean): Buffer =>
  critical(objectId(ID.basicConstraints), isAuthority ? sequence(TRUE, NO_AUTHORITY_BELOW) : sequence())
const subjectKey = (id: Buffer): Buffer => extension(SUBJECT_KEY, octets(id))
const authorityKey = (id: Buffer): Buffer => extension(objectId(ID.authorityKey), sequence(der(0x80, id)))
const extendedUsage = (ids: readonly Buffer[]): Buffer => extension(objectId(ID.extendedUsage), sequence(...ids))
const alternativeNames = (hosts: readonly string[]): Buffer =>
  extension(objectId(ID.alternativeNames), sequence(...hosts.map(generalName)))

/** Bits of KeyUsage; the first bit of the first byte is 0. All used bits are in one byte. */
const KEY_USAGE = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
} as const

/** DER requires dropping trailing zero bits. */
function keyUsage(bits: readonly number[]): Buffer {
  const byte = bits.reduce((all, bit) => all | (0x80 >> bit), 0)
  const unused = 7 - Math.max(...bits)
  return critical(objectId(ID.keyUsage), der(TAG.bitString, Buffer.from([unused, byte])))
}

const CLIENT_AUTH = objectId(ID.clientAuth)
const SERVER_AUTH = objectId(ID.serverAuth)

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/

function generalName(host: string): Buffer {
  if (IPV4.test(host)) return der(0x87, Buffer.from(host.split('.').map(Number)))
  if (isIPv6(host)) return der(0x87, ipv6Bytes(host))
  return der(0x82, Buffer.from(host, 'latin1'))
}

/** The URL parser accepts every notation and writes one. */
function ipv6Bytes(host: string): Buffer {
  const [head = '', tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::', 2)
  const groups = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const bytes = Buffer.alloc(16)
  for (const [i, group] of [...before, ...zeros, ...after].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2)
  return bytes
}

/** Two-digit years until 2049, four digits from then on. */
function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, '')
  return ms < Date.UTC(2050)
    ? der(TAG.utcTime, Buffer.from(text.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(text))
}

/** Positive, and shorter than 20 octets. */
const serialNumber = (): Buffer => der(TAG.integer, Buffer.from([1]), randomBytes(15))

/** Like most authorities, identifies a key by the SHA-1 of its bits. */
function keyId(publicKey: Buffer): Buffer {
  const bits = inside(readDer(publicKey)[0])[1]
  return createHash('sha1')
    .update(bits?.content.subarray(1) ?? '')
    .digest()
}

interface Content {
  /** Names in DER. */
  readonly issuer: Buffer
  readonly subject: Buffer
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

function certificate(key: string, { issuer, subject, publicKey, validity, extensions }: Content): string {
  const privateKey = createPrivateKey(key)
  const algorithm = privateKey.asymmetricKeyType === 'rsa' ? RSA_WITH_SHA256 : ECDSA_WITH_SHA256
  const { now, days, earlierMs = EARLIER_MS } = validity
  const content = sequence(
    VERSION_3,
    serialNumber(),
    algorithm,
    issuer,
    sequence(time(now - earlierMs), time(now + days * DAY_MS)),
    subject,
    publicKey,
    der(EXTENSIONS, sequence(...extensions)),
  )
  return pem('CERTIFICATE', sequence(content, algorithm, bitString(signed('sha256', content, privateKey))))
}

function newKeys(): { readonly key: string; readonly publicKey: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
  }
}

export function newAuthority(commonName: string, validity: Validity): KeyAndCertificate {
  const { key, publicKey } = newKeys()
  const name = encodedName({ commonName })
  const extensions = [basicConstraints(true), keyUsage([KEY_USAGE.keyCertSign]), subjectKey(keyId(publicKey))]
  return { key, certificate: certificate(key, { issuer: name, subject: name, publicKey, validity, extensions }) }
}

type Usage = 'client' | 'server' | 'peer'
const EXTENDED_OF: Readonly<Record<Usage, readonly Buffer[]>> = {
  client: [CLIENT_AUTH],
  server: [SERVER_AUTH],
  peer: [SERVER_AUTH, CLIENT_AUTH],
}

export interface Issue {
  readonly subject: Subject
  readonly validity: Validity
  /** Peers, such as etcd members, use the same certificate as server and client. */
  readonly usage: Usage
  readonly hosts?: readonly string[]
}

/** A new key with a certificate signed by the authority. */
export function issueCertificate(authority: KeyAndCertificate, issue: Issue): KeyAndCertificate {
  const { key, publicKey } = newKeys()
  const { subject, validity, usage, hosts = [] } = issue
  const issued = issuedBy(authority, {
    subject: encodedName(subject),
    publicKey,
    validity,
    extensions: [
      keyUsage([KEY_USAGE.digitalSignature]),
      extendedUsage(EXTENDED_OF[usage]),
      ...(hosts.length === 0 ? [] : [alternativeNames(hosts)]),
    ],
  })
  return { key, certificate: issued }
}

/** Copies the authority's own subject into what it signs, unchanged. */
function issuedBy(authority: KeyAndCertificate, content: Omit<Content, 'issuer'>): string {
  const { name, key } = identityOf(authority.certificate)
  const ofAuthority = key === undefined ? [] : [authorityKey(key)]
  const extensions = [basicConstraints(false), ...ofAuthority, ...content.extensions]
  return certificate(authority.key, { ...content, issuer: name, extensions })
}

/** Fields of a version 3 certificate in order: version, serial number, algorithm, issuer, validity, subject. */
const SUBJECT_AT = 5

function identityOf(certificatePem: string): { readonly name: Buffer; readonly key: Buffer | undefined } {
  const [content] = inside(readDer(bytesOfPem(certificatePem, 'CERTIFICATE'))[0])
  const all = inside(content)
  const extensions = all.find((v) => v.tag === EXTENSIONS)
  const name = all[SUBJECT_AT]
  if (name === undefined) throw new SyntaxError('an authority without a name')
  return { name: name.whole, key: extensions && subjectKeyIn(extensions) }
}

function subjectKeyIn(extensions: DerValue): Buffer | undefined {
  const [list] = inside(extensions, EXTENSIONS)
  const found = inside(list)
    .map((e) => inside(e))
    .find(([id]) => id?.whole.equals(SUBJECT_KEY))
  const value = found?.at(-1)
  return value === undefined ? undefined : readDer(value.content)[0]?.content
}

const KEY_USAGES: ReadonlyMap<string, number> = new Map([
  ['digital signature', KEY_USAGE.digitalSignature],
  ['content commitment', KEY_USAGE.contentCommitment],
  ['key encipherment', KEY_USAGE.keyEncipherment],
  ['data encipherment', KEY_USAGE.dataEncipherment],
  ['key agreement', KEY_USAGE.keyAgreement],
])
const EXTENDED_USAGES: ReadonlyMap<string, Buffer> = new Map([
  ['client auth', CLIENT_AUTH],
  ['server auth', SERVER_AUTH],
])

const known = <V>(table: ReadonlyMap<string, V>, names: readonly string[]): readonly V[] =>
  names.map((n) => table.get(n)).filter((v) => v !== undefined)

/** Signs a request with the usages of its CertificateSigningRequest. */
export function signRequest(
  authority: KeyAndCertificate,
  requestPem: string,
  { usages, validity }: { readonly usages: readonly string[]; readonly validity: Validity },
): string {
  const request = requestParts(requestPem)
  if (request.problem !== undefined) throw new SyntaxError(request.problem)
  const bits = known(KEY_USAGES, usages)
  const extended = known(EXTENDED_USAGES, usages)
  const issued = issuedBy(authority, {
    subject: repeatedName(request.subject),
    publicKey: request.publicKey.whole,
    validity,
    extensions: [
      ...(bits.length === 0 ? [] : [keyUsage(bits)]),
      ...(extended.length === 0 ? [] : [extendedUsage(extended)]),
      ...(request.alternativeNames === undefined ? [] : [request.alternativeNames.whole]),
    ],
  })
  // The requester chose the name and alternative names: never return a certificate that does not parse.
  return new X509Certificate(issued).toString()
}
