// A certificate request, as the approver reads and writes it, and the Defender reviews it.
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'

export type CertificateRequest = BuiltIn['CertificateSigningRequest']

export const certificateRequestType = coreKind('CertificateSigningRequest')

interface NewRequest {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly pem: string
  readonly signerName: string
  readonly seconds: number
}

/** For a client certificate. */
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
