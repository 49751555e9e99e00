// Keys and certificate signing requests, for whoever gets a client certificate from a cluster.
import { createPrivateKey } from 'node:crypto'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

export interface RequestSubject {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

/** A new private key, in PEM. */
export async function newPrivateKey(): Promise<string> {
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', pair.privateKey)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${(der.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`
}

/** A request for a certificate over the key, in PEM. */
export async function signingRequest(key: string, { commonName, organizations = [] }: RequestSubject): Promise<string> {
  // Loaded here: it is needed once at join and once a rotation, and costs memory.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const der = createPrivateKey(key).export({ type: 'pkcs8', format: 'der' })
  const privateKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), ALGORITHM, true, ['sign'])
  const { d: _d, key_ops: _ops, ...jwk } = await crypto.subtle.exportKey('jwk', privateKey)
  const publicKey = await crypto.subtle.importKey('jwk', jwk, ALGORITHM, true, ['verify'])
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [...organizations.map((o) => ({ O: [o] })), { CN: [commonName] }],
    keys: { privateKey, publicKey },
    signingAlgorithm: ALGORITHM,
  })
  return request.toString('pem')
}
