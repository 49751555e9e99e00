import 'reflect-metadata'
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509'
import { expect, test } from 'vitest'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { readContent } from './request-content.ts'

const requestOf = async (commonName: string): Promise<string> => signingRequest(await newPrivateKey(), { commonName })
const read = (text: string) => readContent(Buffer.from(text).toString('base64'))

test('a request of one block is read', async () => {
  expect(await read(await requestOf('kubenode:agent:m-1'))).toMatchObject({
    kind: 'Content',
    content: { commonNames: ['kubenode:agent:m-1'] },
  })
})

test.each([
  ['in another place of a line', (a: string, b: string) => ` ${a}${b}`],
  ['of another label', (a: string, b: string) => `${a.replaceAll('CERTIFICATE', 'NEW CERTIFICATE')}${b}`],
  ['behind it', (a: string, b: string) => `${a}${b}`],
  ['of which only the beginning is there', (a: string, b: string) => `-----BEGIN CERTIFICATE REQUEST-----\n${a}${b}`],
  ['around it', (a: string, b: string) => b.replace('\n', `\n${a}`)],
])(
  'S1 a second request beside one of an agent, %s, is unreadable: the signer may take that one',
  async (_name, both) => {
    const [own, evil] = [await requestOf('kubenode:agent:m-1'), await requestOf('system:kube-controller-manager')]
    expect(await read(both(own, evil))).toMatchObject({ kind: 'Unreadable' })
    expect(await read(both(evil, own))).toMatchObject({ kind: 'Unreadable' })
  },
)

test('a request by a weak key is refused, and says which keys are accepted', async () => {
  const weak = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 1_024 }
  const algorithm = { ...weak, publicExponent: new Uint8Array([1, 0, 1]) }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const made = await Pkcs10CertificateRequestGenerator.create({ name: 'CN=x', keys, signingAlgorithm: weak })
  expect(await read(made.toString('pem'))).toEqual({
    kind: 'Unreadable',
    why: 'an RSA key of 1024 bits is not accepted; use P-256, P-384, P-521, Ed25519, or RSA of 2048 to 8192 bits',
  })
})
