// The part of a cluster's credentials that its API servers get. Pure.
import type { KeyAndCertificate } from '#lib/x509/certificates.ts'
import { bundleOf, leafIn, rootIn, signerOf, type Held } from './held.ts'
import { ADMIN_LEAF, CLUSTER_AUTHORITY, SERVER_LEAF, TOKEN_KEYS } from './recipe.ts'

export interface ServerCredentials {
  /** Digest of the whole: a server reports which one it runs with. */
  readonly digest: string
  readonly authority: KeyAndCertificate
  readonly trusted: string
  readonly server: KeyAndCertificate
  readonly admin: KeyAndCertificate
  readonly tokenKey: string
  readonly otherTokenKeys: readonly string[]
}

/** Undefined while an item is missing. */
export function serverCredentials(held: Held, digest: string): ServerCredentials | undefined {
  const [root, tokens] = [rootIn(held, CLUSTER_AUTHORITY), rootIn(held, TOKEN_KEYS)]
  const [server, admin] = [leafIn(held, SERVER_LEAF), leafIn(held, ADMIN_LEAF)]
  if (root === undefined || tokens === undefined || server === undefined || admin === undefined) return undefined
  const [signer, token] = [signerOf(root), signerOf(tokens)]
  if (signer?.key === undefined || token?.key === undefined) return undefined
  return {
    digest,
    authority: { certificate: signer.open, key: signer.key },
    trusted: bundleOf(root),
    server: { certificate: server.certificate, key: server.key },
    admin: { certificate: admin.certificate, key: admin.key },
    tokenKey: token.key,
    otherTokenKeys: tokens.generations.filter(({ number }) => number !== tokens.signs).map(({ open }) => open),
  }
}
