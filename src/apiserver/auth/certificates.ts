// Makes certificates: our own authority, the serving certificate, client certificates, and answers to signing requests.
// The library is loaded on first use only: a server that finds its files on disk never needs it.
import { randomBytes } from 'node:crypto'
import type * as Library from '@peculiar/x509'

type X509 = typeof Library

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
/** Clocks of clients may be behind ours. */
const BACKDATED_MS = 5 * 60_000

export interface KeyAndCertificate {
  /** PEM. */
  readonly key: string
  readonly certificate: string
}

export interface Subject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

export interface Validity {
  readonly now: number
  readonly days: number
}

let loaded: Promise<X509> | undefined
const x509 = (): Promise<X509> => {
  loaded ??= load()
  return loaded
}

async function load(): Promise<X509> {
  // the library's container asks for this polyfill and does not bring it
  await import('reflect-metadata')
  const lib = await import('@peculiar/x509')
  lib.cryptoProvider.set(globalThis.crypto)
  return lib
}

const nameOf = (s: Subject): Record<string, string[]>[] => [
  ...(s.organizations ?? []).map((o) => ({ O: [o] })),
  { CN: [s.commonName] },
]
/** Positive, and short of 20 octets. */
const serialNumber = (): string => `01${randomBytes(15).toString('hex')}`
const period = ({ now, days }: Validity) => ({
  notBefore: new Date(now - BACKDATED_MS),
  notAfter: new Date(now + days * DAY_MS),
})

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

async function newKeys(): Promise<{
  readonly keys: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey }
  readonly pem: string
}> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  return { keys, pem: pem('PRIVATE KEY', await crypto.subtle.exportKey('pkcs8', keys.privateKey)) }
}

function derOf(pemText: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(pemText.replace(/-----[^-]+-----/g, ''), 'base64'))
}

export async function newAuthority(commonName: string, validity: Validity): Promise<KeyAndCertificate> {
  const lib = await x509()
  const { keys, pem: key } = await newKeys()
  const certificate = await lib.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf({ commonName }),
    ...period(validity),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new lib.BasicConstraintsExtension(true, undefined, true),
      new lib.KeyUsagesExtension(
        lib.KeyUsageFlags.keyCertSign | lib.KeyUsageFlags.cRLSign | lib.KeyUsageFlags.digitalSignature,
        true,
      ),
      await lib.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { key, certificate: `${certificate.toString('pem')}\n` }
}

export interface Issue {
  readonly subject: Subject
  readonly validity: Validity
  readonly usage: 'client' | 'server'
  readonly hosts?: readonly string[]
}

const IP = /^[\d.]+$|:/

/** A new key with a certificate signed by the authority. */
export async function issueCertificate(authority: KeyAndCertificate, issue: Issue): Promise<KeyAndCertificate> {
  const lib = await x509()
  const { keys, pem: key } = await newKeys()
  const usage = issue.usage === 'client' ? lib.ExtendedKeyUsage.clientAuth : lib.ExtendedKeyUsage.serverAuth
  const names = (issue.hosts ?? []).map((h) => ({ type: IP.test(h) ? ('ip' as const) : ('dns' as const), value: h }))
  const certificate = await sign(authority, {
    name: nameOf(issue.subject),
    publicKey: keys.publicKey,
    validity: issue.validity,
    extensions: (l) => [
      new l.KeyUsagesExtension(l.KeyUsageFlags.digitalSignature, true),
      new l.ExtendedKeyUsageExtension([usage]),
      ...(names.length === 0 ? [] : [new l.SubjectAlternativeNameExtension(names)]),
    ],
  })
  return { key, certificate }
}

interface ToSign {
  readonly name: Record<string, string[]>[] | string
  readonly publicKey: CryptoKey
  readonly validity: Validity
  readonly extensions: (lib: X509) => readonly InstanceType<X509['Extension']>[]
}

async function sign(authority: KeyAndCertificate, { name, publicKey, validity, extensions }: ToSign): Promise<string> {
  const lib = await x509()
  const signingKey = await crypto.subtle.importKey('pkcs8', derOf(authority.key), ALGORITHM, false, ['sign'])
  const issuer = new lib.X509Certificate(authority.certificate)
  const certificate = await lib.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: issuer.subject,
    ...period(validity),
    signingAlgorithm: ALGORITHM,
    publicKey,
    signingKey,
    extensions: [
      new lib.BasicConstraintsExtension(false, undefined, true),
      await lib.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...extensions(lib),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

export interface SigningRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly otherNames: boolean
  readonly signatureValid: boolean
}

type Pkcs10 = InstanceType<X509['Pkcs10CertificateRequest']>

function alternativeNames(lib: X509, request: Pkcs10): InstanceType<X509['SubjectAlternativeNameExtension']> | null {
  const found = request.extensions.find((e) => e.type === '2.5.29.17')
  return found === undefined ? null : new lib.SubjectAlternativeNameExtension(found.rawData)
}

export async function readSigningRequest(requestPem: string): Promise<SigningRequest> {
  const lib = await x509()
  const request = new lib.Pkcs10CertificateRequest(requestPem)
  const names = alternativeNames(lib, request)?.names.items ?? []
  return {
    commonName: request.subjectName.getField('CN')[0] ?? '',
    organizations: request.subjectName.getField('O'),
    dnsNames: names.filter((n) => n.type === 'dns').map((n) => n.value),
    ipAddresses: names.filter((n) => n.type === 'ip').map((n) => n.value),
    otherNames: names.some((n) => n.type !== 'dns' && n.type !== 'ip'),
    signatureValid: await request.verify(),
  }
}

const KEY_USAGES: Readonly<Record<string, keyof X509['KeyUsageFlags'] | undefined>> = {
  'digital signature': 'digitalSignature',
  'content commitment': 'nonRepudiation',
  'key encipherment': 'keyEncipherment',
  'data encipherment': 'dataEncipherment',
  'key agreement': 'keyAgreement',
}
const EXTENDED_USAGES: Readonly<Record<string, string | undefined>> = {
  'client auth': '1.3.6.1.5.5.7.3.2',
  'server auth': '1.3.6.1.5.5.7.3.1',
}

/** Signs what a request asks for, with the usages of its CertificateSigningRequest. */
export async function signRequest(
  authority: KeyAndCertificate,
  requestPem: string,
  { usages, validity }: { readonly usages: readonly string[]; readonly validity: Validity },
): Promise<string> {
  const lib = await x509()
  const request = new lib.Pkcs10CertificateRequest(requestPem)
  const flags = usages.reduce<Library.KeyUsageFlags | undefined>((all, u) => {
    const name = KEY_USAGES[u]
    if (name === undefined) return all
    const flag = lib.KeyUsageFlags[name]
    return all === undefined ? flag : all | flag
  }, undefined)
  const extended = usages.map((u) => EXTENDED_USAGES[u]).filter((u) => u !== undefined)
  const san = alternativeNames(lib, request)
  return sign(authority, {
    name: request.subject,
    publicKey: await request.publicKey.export(),
    validity,
    extensions: (l) => [
      ...(flags === undefined ? [] : [new l.KeyUsagesExtension(flags, true)]),
      ...(extended.length === 0 ? [] : [new l.ExtendedKeyUsageExtension(extended)]),
      ...(san === null ? [] : [san]),
    ],
  })
}
