// The parts of built-in kinds that joining needs: bootstrap-token Secrets and certificate requests.
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'

export interface Secret extends KubeObject {
  readonly type?: string
  readonly data?: { readonly [key: string]: string }
}

export interface CertificateRequest extends KubeObject {
  readonly spec: {
    /** Base64 of PEM. */
    readonly request: string
    readonly signerName: string
    readonly usages?: readonly string[]
    /** Set by the API server from who asked. */
    readonly username?: string
    readonly groups?: readonly string[]
  }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[]
    readonly certificate?: string
  }
}

export const secretType: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
}

export const certificateRequestType: ResourceType<CertificateRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  namespaced: false,
}

export interface ConfigMap extends KubeObject {
  readonly data?: { readonly [key: string]: string }
}

export const configMapType: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}
