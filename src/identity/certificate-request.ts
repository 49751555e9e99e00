// The parts of a certificate request that the approver reads and writes, and the Defender reviews.
import type { KubeObject } from '#api/schema/object.ts'
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

interface NewRequest {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly pem: string
  readonly signerName: string
  readonly seconds: number
}

/** For a certificate that a client identifies itself with. */
export const clientRequest = ({ metadata, pem, signerName, seconds }: NewRequest): CertificateRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: certificateRequestType.kind,
  metadata,
  spec: {
    request: Buffer.from(pem).toString('base64'),
    signerName,
    usages: ['client auth'],
    expirationSeconds: seconds,
  },
})
