// How a kubelet finds its control plane and asks it for a certificate: files as `kubeadm join` writes them, and what the control plane needs of the kind.
import type { KubeObject } from '#api/schema/object.ts'

export interface Door {
  readonly url: string
  /** PEM. */
  readonly authorities: string
  readonly token: string
}

const BOOTSTRAP = '/etc/kubernetes/bootstrap-kubelet.conf'
export const OWN = '/etc/kubernetes/kubelet.conf'
export const AUTHORITIES = '/etc/kubernetes/pki/ca.crt'
const BOOTSTRAPPERS = 'system:bootstrappers:test'

/** By path on the host. */
export const doorFiles = ({ url, authorities, token }: Door): Readonly<Record<string, string>> => ({
  [AUTHORITIES]: authorities,
  [BOOTSTRAP]: kubeconfig(url, authorities, `token: ${token}`),
})

export const kubeconfig = (url: string, authorities: string, ...user: readonly string[]): string => `apiVersion: v1
kind: Config
clusters:
  - name: own
    cluster:
      server: ${url}
      certificate-authority-data: ${Buffer.from(authorities).toString('base64')}
users:
  - name: kubelet
    user:
${user.map((line) => `      ${line}`).join('\n')}
contexts:
  - name: own
    context:
      cluster: own
      user: kubelet
current-context: own
`

const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: BOOTSTRAPPERS }
const bound = (name: string, role: string): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: group.apiGroup, kind: 'ClusterRole', name: role },
  subjects: [group],
})

/** As kubeadm has them: the controller manager approves the first certificate of a kubelet with the token. */
export const doorObjects = (token: string): readonly KubeObject[] => [
  bound('test-bootstrap', 'system:node-bootstrapper'),
  bound('test-approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'),
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: { name: `bootstrap-token-${token.split('.')[0] ?? ''}`, namespace: 'kube-system' },
    stringData: {
      'token-id': token.split('.')[0],
      'token-secret': token.split('.')[1],
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': BOOTSTRAPPERS,
    },
  },
]
