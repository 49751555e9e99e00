// What a new host needs so that its agent can join: the address of the API server, whom to trust, and a token for one machine that is valid for a few minutes.
import type { SignedTrust, TrustAnchor } from './trust/trust-document.ts'

export interface JoinBundle {
  readonly server: string
  /** PEM of the CA, in base64, as in kubeconfigs. */
  readonly caData: string
  /** `<id>.<secret>`, or the token of a join account. */
  readonly token: string
  /** What the agent becomes; a certificate when nothing is said. */
  readonly form?: 'certificate' | 'serviceAccount'
  readonly machine: string
  /** Of the Machine: its certificate is for this one and for none of the same name after it. */
  readonly uid?: string
  readonly node: string
  readonly cluster: string
  /** False where a kubelet has registered the Node already: the agent leaves the Node and its Lease to it. */
  readonly registerNode?: boolean
  /** How long the certificate may live; a week when nothing is said. */
  readonly certificateSeconds?: number
  /** Relative artifact URLs are resolved against it. */
  readonly artifactBase: string
  /** PEM, in base64: the authorities to trust for it, and no others; those of the system when left out. */
  readonly artifactCaData?: string | undefined
  /** SHA-256 of the join.sh that is served there; the host is not given it. */
  readonly joinScript?: string | undefined
  /** Whose components may be installed; with the current document, where there is one. */
  readonly trust: TrustAnchor | { readonly anchor: TrustAnchor; readonly document: SignedTrust }
}
