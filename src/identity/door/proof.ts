// How a host with an expired certificate proves that it holds the old key: a signature over the request for the next certificate, the Machine, the
// server and a challenge that the endpoint just issued. Agents make proofs; endpoint, approver and Defender verify them independently. Pure.
import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from 'node:crypto'
import { isObject } from '#lib/json.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface DoorFacts {
  readonly machine: string
  readonly uid: string
  /** Print of the authority that the agent trusts: a proof for one cluster is not valid for another. */
  readonly server: string
  /** Issued by the endpoint and valid for a few minutes: an intercepted proof is useless later. */
  readonly nonce: string
}

export interface DoorProof extends DoorFacts {
  /** Public half of the old key: SubjectPublicKeyInfo in base64. */
  readonly key: string
  /** In base64. */
  readonly signature: string
}

/** SHA-256 of the first certificate of the authority. */
export const authorityPrint = (caPem: string): string => new X509Certificate(caPem).fingerprint256.replaceAll(':', '')

const PURPOSE = 'kubenode door, version 1'

/** One part per line; `parseProof` ensures that no part contains a line break. */
const signedText = ({ machine, uid, server, nonce }: DoorFacts, requestPem: string): Buffer =>
  Buffer.from([PURPOSE, server, machine, uid, nonce, sha256Hex(requestPem)].join('\n'))

export function makeProof(oldKeyPem: string, facts: DoorFacts, requestPem: string): DoorProof {
  const privateKey = createPrivateKey(oldKeyPem)
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const signature = sign('sha256', signedText(facts, requestPem), privateKey)
  return { ...facts, key: spki.toString('base64'), signature: signature.toString('base64') }
}

/** Machine names have up to 253 characters, agent keys 91 bytes, their signatures 72. */
const LONGEST: Readonly<Record<keyof DoorProof, number>> = {
  machine: 253,
  uid: 64,
  server: 64,
  nonce: 128,
  key: 128,
  signature: 128,
}
const PLAIN = /^[\w.:+/=-]+$/

export function parseProof(value: unknown): DoorProof | undefined {
  if (!isObject(value)) return undefined
  const part = (name: keyof DoorProof): string => {
    const text = value[name]
    return typeof text === 'string' && text.length <= LONGEST[name] && PLAIN.test(text) ? text : ''
  }
  const proof: DoorProof = {
    machine: part('machine'),
    uid: part('uid'),
    server: part('server'),
    nonce: part('nonce'),
    key: part('key'),
    signature: part('signature'),
  }
  return Object.values(proof).includes('') ? undefined : proof
}

export function proofIn(text: string | undefined): DoorProof | undefined {
  try {
    return parseProof(JSON.parse(text ?? 'null'))
  } catch {
    return undefined
  }
}

/** The key that the proof claims to use; cheap, and not verified yet. */
export const claimedKey = ({ key }: DoorProof): string => sha256Hex(Buffer.from(key, 'base64'))

/** Fingerprint of the key that signed; undefined when the signature is from another key, or over another request. */
export function provedKey(proof: DoorProof, requestPem: string): string | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(proof.key, 'base64'), format: 'der', type: 'spki' })
    // Agents make no other keys, and verifying some of the others can take as long as an attacker likes.
    if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
    const isSigned = verify('sha256', signedText(proof, requestPem), key, Buffer.from(proof.signature, 'base64'))
    return isSigned ? sha256Hex(key.export({ type: 'spki', format: 'der' })) : undefined
  } catch {
    return undefined
  }
}
