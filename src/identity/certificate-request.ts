// The parts of a certificate request that the approver reads and writes, and the Defender reviews.
import type { KubeObject } from '#schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'

export interface CertificateRequest extends KubeObject {
  readonly spec: {
    /** Base64 of PEM. */
    readonly request: string
    readonly signerName: string
    readonly usages?: readonly string[]
    /** The requested lifetime of the certificate. */
    readonly expirationSeconds?: number
    /** Set by the API server from who asked. */
    readonly username?: string
    readonly groups?: readonly string[]
  }
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
    readonly certificate?: string
  }
}

export const certificateRequestType = coreKind<CertificateRequest>('CertificateSigningRequest')
