// Reads what a certificate request asks for, its proof of possession checked. What cannot be read completely is unreadable.
import 'reflect-metadata'
import { Pkcs10CertificateRequest } from '@peculiar/x509'
import { bytesOfOnlyPem } from '#lib/der.ts'
import { messageOf } from '#lib/errors.ts'
import { fingerprintOfSpki } from '#lib/key-fingerprint.ts'

/** What stands in the request itself, its signature checked already. */
export interface RequestContent {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  /** Other parts of the subject, and extensions that ask for names. */
  readonly extras: readonly string[]
  /** Of the public key: SHA-256 of its SubjectPublicKeyInfo, in hex. */
  readonly key: string
}

export type ContentRead =
  | { readonly kind: 'Content'; readonly content: RequestContent }
  | { readonly kind: 'Unreadable'; readonly why: string }

/** A request of an agent has some 400 bytes. */
const MAX_REQUEST_CHARS = 16_384

export async function readContent(base64Pem: string): Promise<ContentRead> {
  if (base64Pem.length > MAX_REQUEST_CHARS) return { kind: 'Unreadable', why: 'the request is too long' }
  try {
    // Whoever signs reads the text once more: of two blocks it may take the other one.
    const text = Buffer.from(base64Pem, 'base64').toString('utf8')
    const request = new Pkcs10CertificateRequest(bytesOfOnlyPem(text, 'CERTIFICATE REQUEST'))
    if (!(await request.verify())) return { kind: 'Unreadable', why: 'the signature does not match the key' }
    const subject = request.subjectName.toJSON().flatMap((rdn) => Object.entries(rdn))
    const named = (type: string) => subject.flatMap(([t, values]) => (t === type ? values : []))
    const others = subject.filter(([t]) => t !== 'CN' && t !== 'O').map(([t]) => t)
    return {
      kind: 'Content',
      content: {
        commonNames: named('CN'),
        organizations: named('O'),
        extras: [...others, ...request.extensions.map((e) => `extension ${e.type}`)],
        key: fingerprintOfSpki(new Uint8Array(request.publicKey.rawData)),
      },
    }
  } catch (e) {
    return { kind: 'Unreadable', why: messageOf(e).slice(0, 100) }
  }
}
