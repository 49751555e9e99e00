import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import fc from 'fast-check'
import {
  generateKeyPairSync,
  sign,
  X509Certificate,
  createPrivateKey,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
// Before any toLegacyObject(): without it Node's own tls stays half loaded, also for the files after this one in the same process.
import 'node:tls'
import { describe, expect, test } from 'vitest'
import { bitString, der, objectId, octets, pem, sequence, TAG } from './der.ts'
import { newPrivateKey, signingRequest } from './signing-request.ts'
import { issueCertificate, newAuthority, signRequest } from './certificates.ts'
import { readSigningRequest } from './read-request.ts'
import { defined } from '../defined.ts'
import { sha256 } from '#lib/sha256.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const validity = { now: NOW, days: 365 }
const authority = newAuthority('kubenode-ca', validity)

const extensionsOf = (pem: string) =>
  Object.fromEntries(new x509.X509Certificate(pem).extensions.map((e) => [e.type, e.critical]))

async function requestOf(
  algorithm: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams | { readonly name: 'Ed25519' },
  signing: { readonly name: string; readonly hash?: string },
  names: readonly x509.JsonGeneralName[] = [],
): Promise<string> {
  const keys = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'O=system:nodes, CN=system:node:n-1',
    keys,
    signingAlgorithm: signing as webcrypto.EcdsaParams,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension([...names])],
  })
  return request.toString('pem')
}

interface Keys {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const UNSIGNED = 'the signature does not match the key'
const EC = { name: 'ECDSA', namedCurve: 'P-256' } as const
const EC_SIGNED = { name: 'ECDSA', hash: 'SHA-256' } as const

describe('a certificate', () => {
  test('of the authority is its own, and may sign', () => {
    const read = new X509Certificate(authority.certificate)
    expect([read.ca, read.subject, read.issuer]).toEqual([true, 'CN=kubenode-ca', 'CN=kubenode-ca'])
    expect(read.verify(read.publicKey)).toBe(true)
    expect(read.checkPrivateKey(createPrivateKey(authority.key))).toBe(true)
    expect(extensionsOf(authority.certificate)).toEqual({ '2.5.29.19': true, '2.5.29.15': true, '2.5.29.14': false })
    const oracle = new x509.X509Certificate(authority.certificate)
    expect(oracle.getExtension(x509.BasicConstraintsExtension)?.pathLength).toBe(0)
    expect(oracle.getExtension(x509.KeyUsagesExtension)?.usages).toBe(x509.KeyUsageFlags.keyCertSign)
  })

  test('signs servers and clients, and no authority that it did not mean', () => {
    const below = issueCertificate(authority, { subject: { commonName: 'x' }, validity, usage: 'server' })
    const second = issueCertificate(below, { subject: { commonName: 'y' }, validity, usage: 'client' })
    expect(new X509Certificate(below.certificate).ca).toBe(false)
    expect(new X509Certificate(second.certificate).checkIssued(new X509Certificate(below.certificate))).toBe(false)
  })

  test('is good from five minutes ago, or from as long ago as is asked for', () => {
    const from = (earlierMs?: number) =>
      new X509Certificate(newAuthority('x', { ...validity, ...defined({ earlierMs }) }).certificate).validFromDate
    expect([from(), from(86_400_000)].map((d) => NOW - d.getTime())).toEqual([300_000, 86_400_000])
  })

  test('of a server names its hosts, in each way in which an address is written', () => {
    const hosts = ['localhost', '127.0.0.1', '::1', 'fd00::a:1', '::ffff:10.0.0.1', 'kubernetes.default']
    const { certificate } = issueCertificate(authority, {
      subject: { commonName: 'kube-apiserver' },
      validity,
      usage: 'server',
      hosts,
    })
    const read = new X509Certificate(certificate)
    expect(read.checkIssued(new X509Certificate(authority.certificate))).toBe(true)
    expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true)
    expect(hosts.map((h) => read.checkHost(h) ?? read.checkIP(h))).toEqual(hosts)
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    expect([read.validFromDate.getTime(), read.validToDate.getTime()]).toEqual([
      NOW - 5 * 60_000,
      NOW + 365 * 86_400_000,
    ])
  })

  test('of a client says who it is, also beyond ASCII and beyond 2050', () => {
    const subject = { commonName: 'knoten-ä-机器', organizations: ['a', 'b'.repeat(300)] }
    const { certificate, key } = issueCertificate(authority, {
      subject,
      validity: { now: Date.UTC(2049, 0, 1), days: 3_650 },
      usage: 'client',
    })
    const read = new X509Certificate(certificate)
    expect(read.toLegacyObject().subject).toEqual({ O: ['a', 'b'.repeat(300)], CN: 'knoten-ä-机器' })
    expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(read.validToDate.getUTCFullYear()).toBe(2058)
  })

  test('is signed by an authority that another program made, with the name of its key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const signingKey = await crypto.subtle.importKey(
      'pkcs8',
      privateKey.export({ type: 'pkcs8', format: 'der' }),
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
      true,
      ['sign'],
    )
    const jwk = await crypto.subtle.exportKey('jwk', signingKey)
    const publicKey = await crypto.subtle.importKey(
      'jwk',
      { kty: jwk.kty ?? '', n: jwk.n ?? '', e: jwk.e ?? '' },
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
      true,
      ['verify'],
    )
    const made = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'C=CH, O=Somebody, CN=their-ca',
      keys: { privateKey: signingKey, publicKey },
      signingAlgorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as webcrypto.EcdsaParams,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.SubjectKeyIdentifierExtension('0102030405'),
      ],
    })
    const theirs = { key, certificate: made.toString('pem') }
    const { certificate } = issueCertificate(theirs, { subject: { commonName: 'x' }, validity, usage: 'client' })
    const read = new X509Certificate(certificate)
    expect(read.checkIssued(new X509Certificate(theirs.certificate))).toBe(true)
    expect(read.verify(new X509Certificate(theirs.certificate).publicKey)).toBe(true)
    expect(new x509.X509Certificate(certificate).getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(
      '0102030405',
    )
  })
})

describe('a signing request', () => {
  test.each([
    ['ECDSA P-256', EC, EC_SIGNED],
    ['ECDSA P-384', { name: 'ECDSA', namedCurve: 'P-384' }, { name: 'ECDSA', hash: 'SHA-384' }],
    [
      'RSA',
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    ],
    ['Ed25519', { name: 'Ed25519' } as const, { name: 'Ed25519' }],
  ])('of a key of %s is read, and its signature holds', async (_name, algorithm, signing) => {
    const text = await requestOf(algorithm, signing, [
      { type: 'dns', value: 'n-1.example.org' },
      { type: 'ip', value: '10.0.0.1' },
      { type: 'ip', value: 'fd00::1' },
      { type: 'url', value: 'https://example.org' },
    ])
    expect(readSigningRequest(text)).toEqual({
      commonName: 'system:node:n-1',
      organizations: ['system:nodes'],
      dnsNames: ['n-1.example.org'],
      ipAddresses: ['10.0.0.1', 'fd00:0:0:0:0:0:0:1'],
      otherNames: true,
      problem: undefined,
    })
  })

  test('whose content was changed after it was signed does not hold', async () => {
    const text = await signingRequest(await newPrivateKey(), { commonName: 'kubenode:sync' })
    const bytes = Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64')
    bytes[bytes.indexOf('kubenode:sync')] = 'K'.charCodeAt(0)
    const changed = `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
    expect(readSigningRequest(changed)).toMatchObject({ commonName: 'Kubenode:sync', problem: UNSIGNED })
  })

  test.each([
    ['no request', 'x'],
    ['another block', authority.certificate],
    ['an end too soon', '-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n'],
  ])('that is %s is refused', (_name, text) => {
    expect(() => readSigningRequest(text)).toThrow(SyntaxError)
  })

  test('with a name that others read in another way is refused', async () => {
    const text = await signingRequest(await newPrivateKey(), { commonName: 'system:admin\u0000.example.org' })
    expect(() => readSigningRequest(text)).toThrow(/control characters/)
  })

  const derOf = (text: string): Buffer => Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64')
  const blockOf = (bytes: Buffer): string => pem('CERTIFICATE REQUEST', bytes)

  test.each([
    ['in another place of a line', (a: string, b: string) => ` ${a}${b}`],
    ['of another label', (a: string, b: string) => `${a.replaceAll('CERTIFICATE', 'NEW CERTIFICATE')}${b}`],
    ['behind it', (a: string, b: string) => `${a}${b}`],
    ['of which only the beginning is there', (a: string, b: string) => `-----BEGIN CERTIFICATE REQUEST-----\n${a}${b}`],
    ['around it', (a: string, b: string) => b.replace('\n', `\n${a}`)],
  ])('beside another one %s is refused: others may go by that one', async (_name, both) => {
    const [a, b] = await Promise.all(
      ['kubenode:agent:m-1', 'system:kube-controller-manager'].map(async (commonName) =>
        signingRequest(await newPrivateKey(), { commonName }),
      ),
    )
    expect(() => readSigningRequest(both(a ?? '', b ?? ''))).toThrow(/PEM blocks/)
  })

  test('is read the same with text before it and lines that end as elsewhere', async () => {
    const text = await signingRequest(await newPrivateKey(), { commonName: 'x' })
    const read = readSigningRequest(text)
    expect([read.commonName, read.problem]).toEqual(['x', undefined])
    expect(readSigningRequest(`Certificate Request:\n  Data:\n${text.replaceAll('\n', '\r\n')}`)).toEqual(read)
    expect(() => readSigningRequest(text.replace('\n-----END', '\n=AAA\n-----END'))).toThrow(SyntaxError)
    expect(() => readSigningRequest(`${'\n'.repeat(70_000)}${text}`)).toThrow(/characters/)
  })

  /** A signed request with all of these. */
  function signedRequest(subject: Buffer, attributes: Buffer, ...more: readonly Buffer[]): string {
    return signedBy(generateKeyPairSync('ec', { namedCurve: 'P-256' }), subject, attributes, ...more)
  }
  function signedBy(
    { privateKey, publicKey }: Keys,
    subject: Buffer,
    attributes: Buffer,
    ...more: readonly Buffer[]
  ): string {
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    const info = sequence(der(TAG.integer, Buffer.from([0])), subject, spki, attributes, ...more)
    const isRsa = publicKey.asymmetricKeyType === 'rsa'
    const algorithm = sequence(objectId(isRsa ? '2a864886f70d01010b' : '2a8648ce3d040302'))
    return blockOf(sequence(info, algorithm, bitString(sign('sha256', info, privateKey))))
  }
  const name = (tag: number, id: string, text: string | Buffer): Buffer =>
    der(TAG.set, sequence(objectId(id), der(tag, Buffer.from(text))))
  const [CN, O] = ['550403', '55040a']
  const extensions = (...all: readonly Buffer[]): Buffer =>
    sequence(objectId('2a864886f70d01090e'), der(TAG.set, sequence(...all)))
  const names = (...all: readonly Buffer[]): Buffer => sequence(objectId('551d11'), octets(sequence(...all)))
  const dns = (text: string): Buffer => der(0x82, Buffer.from(text, 'latin1'))
  const none = der(0xa0)

  test.each<[string, string]>([
    ['two common names', signedRequest(sequence(name(TAG.utf8String, CN, 'a'), name(TAG.utf8String, CN, 'b')), none)],
    ['a name of other letters', signedRequest(sequence(name(TAG.printableString, CN, 'kné')), none)],
    ['an organization in two bytes a letter', signedRequest(sequence(name(0x1e, O, '\0a')), none)],
    [
      'a part of a name with two values',
      signedRequest(
        sequence(
          der(
            TAG.set,
            sequence(objectId(CN), der(TAG.utf8String, Buffer.from('a')), der(TAG.utf8String, Buffer.from('b'))),
          ),
        ),
        none,
      ),
    ],
    ['an extension twice', signedRequest(sequence(), der(0xa0, extensions(names(dns('a')), names(dns('b')))))],
    [
      'an extension in two attributes',
      signedRequest(sequence(), der(0xa0, extensions(names(dns('a'))), extensions(names(dns('b'))))),
    ],
    [
      'an extension of two values',
      signedRequest(
        sequence(),
        der(0xa0, extensions(sequence(objectId('551d11'), octets(sequence(dns('a'))), octets(sequence(dns('b')))))),
      ),
    ],
    ['a name that ends at a zero byte', signedRequest(sequence(), der(0xa0, extensions(names(dns('a\0.b')))))],
    ['a name with a space', signedRequest(sequence(), der(0xa0, extensions(names(dns('a b')))))],
    ['no name', signedRequest(sequence(), der(0xa0, extensions(names(dns('')))))],
    ['something beyond its attributes', signedRequest(sequence(), none, der(0xa1))],
  ])('that asks for %s is refused', (_name, text) => {
    expect(() => readSigningRequest(text)).toThrow(SyntaxError)
  })

  const someone = sequence(name(TAG.utf8String, CN, 'a'))

  test.each<[string, Keys]>([
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
    ['RSA of 2048 bits', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
  ])('by a key of %s is accepted', (_name, keys) => {
    expect(readSigningRequest(signedBy(keys, someone, none)).problem).toBeUndefined()
  })

  /** A public key of RSA with this modulus and exponent, both as numbers write them. */
  const rsaKey = (modulus: Buffer, exponent: number): Buffer => {
    const integer = (bytes: Buffer) =>
      der(TAG.integer, (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.from([0]), bytes]) : bytes)
    const numbers = sequence(integer(modulus), integer(Buffer.from([exponent])))
    return sequence(sequence(objectId('2a864886f70d010101'), der(0x05)), bitString(numbers))
  }

  /** With an exponent of 1 a signature is its own padded digest: anyone can create one without the private key. */
  function forgedRequest(): string {
    const modulus = Buffer.alloc(256, 0xff)
    const info = sequence(der(TAG.integer, Buffer.from([0])), someone, rsaKey(modulus, 1), none)
    const digest = sequence(sequence(objectId('608648016503040201'), der(0x05)), octets(sha256(info)))
    const padding = Buffer.alloc(256 - 3 - digest.length, 0xff)
    const signature = Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), digest])
    return blockOf(sequence(info, sequence(objectId('2a864886f70d01010b')), bitString(signature)))
  }

  function requestWithKey(spki: Buffer): string {
    const info = sequence(der(TAG.integer, Buffer.from([0])), someone, spki, none)
    return blockOf(sequence(info, sequence(objectId('2a864886f70d01010b')), bitString(Buffer.alloc(256, 1))))
  }

  const rsaOf = (modulusLength: number, publicExponent = 65_537): string =>
    signedBy(generateKeyPairSync('rsa', { modulusLength, publicExponent }), someone, none)
  const ecOf = (namedCurve: string, paramEncoding: 'named' | 'explicit' = 'named'): string =>
    signedBy(generateKeyPairSync('ec', { namedCurve, paramEncoding }), someone, none)

  test.each<[string, string, RegExp]>([
    ['RSA of 512 bits', rsaOf(512), /RSA key of 512 bits is not accepted/],
    ['RSA of 1024 bits', rsaOf(1_024), /RSA key of 1024 bits/],
    ['RSA of 2047 bits', rsaOf(2_047), /RSA key of 2047 bits/],
    ['RSA of 8200 bits', requestWithKey(rsaKey(Buffer.alloc(1_025, 0xff), 3)), /RSA key of 8200 bits/],
    ['RSA with the exponent 3', rsaOf(2_048, 3), /RSA exponent/],
    ['RSA with an even exponent', requestWithKey(rsaKey(Buffer.alloc(256, 0xff), 4)), /RSA exponent/],
    ['RSA with the exponent 1, without its private key', forgedRequest(), /RSA exponent/],
    ['secp256k1', ecOf('secp256k1'), /elliptic curve/],
    ['P-224', ecOf('secp224r1'), /elliptic curve/],
    ['P-256 with its curve written out', ecOf('P-256', 'explicit'), /elliptic curve/],
    [
      'X25519',
      requestWithKey(generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'der' })),
      /type x25519/,
    ],
    [
      'RSA-PSS',
      requestWithKey(
        generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).publicKey.export({ type: 'spki', format: 'der' }),
      ),
      /type rsa-pss/,
    ],
    ['no kind at all', requestWithKey(sequence()), /public key cannot be read/],
  ])('by a key of %s is refused with the keys to use, and becomes no certificate', (_name, text, why) => {
    const { problem = '' } = readSigningRequest(text)
    expect(problem).toMatch(why)
    expect(problem).toMatch(/; use P-256, P-384, P-521, Ed25519, or RSA of 2048 to 8192 bits$/)
    expect(() => signRequest(authority, text, { usages: ['client auth'], validity })).toThrow(problem)
  })

  test.each([
    ['SHA-1 by a key of ECDSA', 'ec', '2a8648ce3d0401', 'sha1'],
    ['SHA-224 by a key of ECDSA', 'ec', '2a8648ce3d040301', 'sha224'],
    ['SHA-1 by a key of RSA', 'rsa', '2a864886f70d010105', 'sha1'],
    ['MD5 by a key of RSA', 'rsa', '2a864886f70d010104', 'md5'],
  ])('signed with %s is refused with the algorithms to use', (_name, kind, id, hash) => {
    const { privateKey, publicKey } =
      kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    const info = sequence(der(TAG.integer, Buffer.from([0])), someone, spki, none)
    const text = blockOf(sequence(info, sequence(objectId(id)), bitString(sign(hash, info, privateKey))))
    expect(readSigningRequest(text).problem).toBe(
      'the algorithm of the signature is not accepted; use Ed25519, or ECDSA or RSA with SHA-256, SHA-384 or SHA-512',
    )
    expect(() => signRequest(authority, text, { usages: ['client auth'], validity })).toThrow(/algorithm/)
  })

  test('whose name no program could read becomes no certificate', () => {
    const odd = sequence(der(TAG.set, sequence(objectId('55800403'), der(TAG.utf8String, Buffer.from('x')))))
    expect(() => signRequest(authority, signedRequest(odd, none), { usages: ['client auth'], validity })).toThrow(
      /asn1/,
    )
  })

  test('with something beyond its end is refused', async () => {
    const bytes = derOf(await signingRequest(await newPrivateKey(), { commonName: 'x' }))
    expect(readSigningRequest(blockOf(bytes)).commonName).toBe('x')
    expect(() => readSigningRequest(blockOf(Buffer.concat([bytes, der(0x05)])))).toThrow(/more than/)
  })

  test('becomes a certificate with its name, key, alternative names and the usages asked for', async () => {
    const text = await requestOf(EC, EC_SIGNED, [{ type: 'dns', value: 'n-1.example.org' }])
    const usages = ['key encipherment', 'digital signature', 'server auth', 'any']
    const certificate = signRequest(authority, text, { usages, validity })
    const read = new X509Certificate(certificate)
    expect(read.checkIssued(new X509Certificate(authority.certificate))).toBe(true)
    expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true)
    expect(read.toLegacyObject().subject).toEqual({ O: 'system:nodes', CN: 'system:node:n-1' })
    expect(read.subjectAltName).toBe('DNS:n-1.example.org')
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    const usage = new x509.X509Certificate(certificate).getExtension(x509.KeyUsagesExtension)?.usages
    expect(usage).toBe(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment)
    const own = new x509.Pkcs10CertificateRequest(text).publicKey.rawData
    expect(read.publicKey.export({ type: 'spki', format: 'der' }).equals(Buffer.from(own))).toBe(true)
  })

  test('with bytes changed at random is read or refused, and holds only when nothing was changed', async () => {
    const text = await requestOf(EC, EC_SIGNED, [{ type: 'ip', value: '10.0.0.1' }])
    const bytes = Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64')
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.nat({ max: bytes.length - 1 }), to: fc.nat({ max: 255 }) }), { maxLength: 4 }),
        fc.integer({ min: 0, max: bytes.length }),
        (changes, length) => {
          const copy = Buffer.from(bytes)
          for (const { at, to } of changes) copy[at] = to
          const cut = length % 3 === 0 ? copy.subarray(0, length) : copy
          const block = `-----BEGIN CERTIFICATE REQUEST-----\n${cut.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
          try {
            const { problem } = readSigningRequest(block)
            if (problem === undefined) expect(cut.equals(bytes)).toBe(true)
          } catch (e) {
            expect(e).toBeInstanceOf(SyntaxError)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})
