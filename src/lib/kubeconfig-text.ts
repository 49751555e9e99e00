// A self-contained kubeconfig for one user with a client certificate.
import type { KeyAndCertificate } from './x509/certificates.ts'

interface KubeconfigOf {
  readonly url: string
  readonly authority: string
  readonly client: KeyAndCertificate
  readonly user: string
}

/** YAML instead of JSON, because people read it. */
export function kubeconfigText({ url, authority, client, user }: KubeconfigOf): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return `apiVersion: v1
kind: Config
clusters:
  - name: kubenode
    cluster:
      server: ${url}
      certificate-authority-data: ${base64(authority)}
users:
  - name: ${user}
    user:
      client-certificate-data: ${base64(client.certificate)}
      client-key-data: ${base64(client.key)}
contexts:
  - name: kubenode
    context:
      cluster: kubenode
      user: ${user}
current-context: kubenode
`
}
