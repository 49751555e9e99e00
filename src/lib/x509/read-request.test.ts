import 'reflect-metadata'
import {
  ChallengePasswordAttribute,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509'
import * as fc from 'fast-check'
import { webcrypto } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { dottedId, objectId, readDer } from './der.ts'
import { newPrivateKey, signingRequest } from './signing-request.ts'
import { readName } from './name.ts'
import { readSigningRequest, requestParts } from './read-request.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
let keys: webcrypto.CryptoKeyPair
let key: string
beforeAll(async () => {
  keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  key = await newPrivateKey()
})

const text = fc
  .stringMatching(/^[A-Za-z0-9:ä机. -]{1,40}$/u)
  .map((t) => t.trim())
  .filter((t) => t !== '')

test('whatever we write, a library reads as we do', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.array(text, { maxLength: 4 }), async (commonName, organizations) => {
      const pem = await signingRequest(key, { commonName, organizations })
      const theirs = new Pkcs10CertificateRequest(pem)
      const ours = readSigningRequest(pem)
      expect(ours).toMatchObject({ commonName, organizations, problem: undefined, otherNames: false })
      expect([theirs.subjectName.getField('CN'), theirs.subjectName.getField('O')]).toEqual([
        [commonName],
        organizations,
      ])
      expect(requestParts(pem).publicKey.whole.equals(Buffer.from(theirs.publicKey.rawData))).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test.each([
  ['plain', {}, [], []],
  [
    'with a name of a host',
    { extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'a.example' }])] },
    [],
    ['2.5.29.17'],
  ],
  ['with a unit and a country', { name: 'CN=x, OU=unit, C=DE' }, ['2.5.4.11', '2.5.4.6'], []],
  ['with a password', { attributes: [new ChallengePasswordAttribute('p')] }, [], []],
])('a request %s of a library is read as the library reads it', async (_name, more, others, extensions) => {
  const made = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=x',
    keys,
    signingAlgorithm: ALGORITHM,
    ...more,
  })
  const parts = requestParts(made.toString('pem'))
  expect(parts.problem).toBeUndefined()
  expect(readName(parts.subject)).toEqual({ commonName: 'x', organizations: [], others })
  expect(parts.extensions).toEqual(extensions)
  expect(parts.extensions).toEqual(made.extensions.map((e) => e.type))
})

test.each([
  ['550403', '2.5.4.3'],
  ['2a864886f70d010901', '1.2.840.113549.1.9.1'],
  ['883703', '2.999.3'],
])('the identifier %s is %s', (hex, dotted) => {
  expect(dottedId(readDer(objectId(hex))[0])).toBe(dotted)
})

test.each(['', '2a86', '2a8001', '80'])('the identifier %j is refused', (hex) => {
  expect(() => dottedId(readDer(objectId(hex))[0])).toThrow(SyntaxError)
})

/** Who may ask for a certificate would otherwise keep the reader busy for as long as it takes to compute the square of this length. */
test('an identifier that is longer than any is refused before its numbers are read', () => {
  const long = (bytes: number): string => `2a${'ff'.repeat(bytes - 2)}01`
  expect(dottedId(readDer(objectId(long(128)))[0])).toMatch(/^1\.2\.\d+$/)
  expect(() => dottedId(readDer(objectId(long(129)))[0])).toThrow('longer than any')
})
