// What a new host needs so that its agent can join: the API server's address, whom to trust, and a token for one machine that is valid for a few minutes.
import type { SignedTrust, TrustAnchor } from './trust/trust-document.ts'

export interface JoinBundle {
  readonly server: string
  /** Base64 PEM of the CA, as in kubeconfigs. */
  readonly caData: string
  /** `<id>.<secret>`, or a join account's token. */
  readonly token: string
  /** The agent's identity type; a certificate if left out. */
  readonly form?: 'certificate' | 'serviceAccount'
  readonly machine: string
  /** Uid of the Machine: the certificate is for this one, not for a later one with its name. */
  readonly uid?: string
  readonly node: string
  readonly cluster: string
  /** False if a kubelet registers the Node: the agent leaves the Node and its Lease alone. */
  readonly registerNode?: boolean
  /** The certificate's maximum life; a week if left out. */
  readonly certificateSeconds?: number
  /** Base for relative artifact URLs. */
  readonly artifactBase: string
  /** Base64 PEM of the only CAs to trust for it; the system's if left out. */
  readonly artifactCaData?: string | undefined
  /** SHA-256 of the join.sh served there; not sent to the host. */
  readonly joinScript?: string | undefined
  /** Whose components may be installed, with the current document if there is one. */
  readonly trust: TrustAnchor | { readonly anchor: TrustAnchor; readonly document: SignedTrust }
}
