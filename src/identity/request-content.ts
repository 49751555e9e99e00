// Parses a certificate request and checks its key and its proof of possession. A request that cannot be parsed completely counts as unreadable.
import { messageOf } from '#lib/errors.ts'
import { readName } from '#lib/x509/name.ts'
import { requestParts } from '#lib/x509/read-request.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** The content of the request itself, after its signature was checked. */
export interface RequestContent {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  /** Other parts of the subject, and extensions that request names. */
  readonly extras: readonly string[]
  /** Print of the public key: SHA-256 of its SubjectPublicKeyInfo, in hex. */
  readonly key: string
}

export type ContentRead =
  | { readonly kind: 'Content'; readonly content: RequestContent }
  | { readonly kind: 'Unreadable'; readonly why: string }

/** An agent's request takes about 400 bytes. */
const MAX_REQUEST_CHARS = 16_384

export const readContent = (base64Pem: string): Promise<ContentRead> => Promise.resolve(contentOf(base64Pem))

function contentOf(base64Pem: string): ContentRead {
  if (base64Pem.length > MAX_REQUEST_CHARS) return { kind: 'Unreadable', why: 'the request is too long' }
  try {
    const parts = requestParts(Buffer.from(base64Pem, 'base64').toString('utf8'))
    if (parts.problem !== undefined) return { kind: 'Unreadable', why: parts.problem }
    const { commonName, organizations, others } = readName(parts.subject)
    return {
      kind: 'Content',
      content: {
        commonNames: commonName === '' ? [] : [commonName],
        organizations,
        extras: [...others.map((id) => `subject part ${id}`), ...parts.extensions.map((id) => `extension ${id}`)],
        key: sha256Hex(parts.publicKey.whole),
      },
    }
  } catch (e) {
    return { kind: 'Unreadable', why: messageOf(e).slice(0, 100) }
  }
}
