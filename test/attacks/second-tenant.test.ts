// The attacker may do everything in a namespace of their own: nothing of KubeNode and of other tenants is theirs.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Attempt, type AttackWorld, tryOnServers } from '#test/support/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const tenant =
  (method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.tenant, method, path, body === undefined ? {} : { body })

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } }

/** Somebody was given everything in our namespace, as the administrator of a namespace is. */
const inside =
  (method: string, path: string, body: object) =>
  async ({ admin, ask }: AttackWorld) => {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const metadata = { name: 'inside', namespace: SYSTEM_NAMESPACE }
    const post = (plural: string, object: object) =>
      admin.raw({ method: 'POST', path: `/apis/${apiVersion}/namespaces/${SYSTEM_NAMESPACE}/${plural}`, body: object })
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    await post('roles', { apiVersion, kind: 'Role', metadata, rules })
    const subjects = [{ kind: 'User', name: 'inside', apiGroup: 'rbac.authorization.k8s.io' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'inside' }
    await post('rolebindings', { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef })
    const who = { user: 'inside', groups: ['system:authenticated'] }
    return ask(who, method, `/api/v1/namespaces/${SYSTEM_NAMESPACE}/${path}`, { body })
  }

const INSTALLER_ONLY = /only the installer makes/

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 a tenant writes into our namespace',
    attempt: tenant('POST', `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps`, configMap),
    control: tenant('POST', '/api/v1/namespaces/shop/configmaps', configMap),
    refused: 403,
  },
  { name: 'S25 a tenant deletes a Machine', attempt: tenant('DELETE', `${OURS}/machines/m-a`), refused: 403 },
  {
    name: 'S25 a tenant freezes the fleet',
    attempt: tenant('POST', `${OURS}/operationalholds`, { kind: 'OperationalHold' }),
    refused: 403,
  },
  {
    // Everything in a namespace includes `bind` there; what the role gives for the whole cluster, a binding in a namespace does not.
    name: 'S25 a tenant binds the role of the Defender to an account of theirs, and reads the ledger with it',
    attempt: async (world) => {
      const bound = await tenant('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'mine' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'kubenode:defender' },
        subjects: [{ kind: 'ServiceAccount', name: 'till', namespace: 'shop' }],
      })(world)
      if (bound.status !== 201) throw new Error(`not bound: ${bound.text}`)
      const till = { user: 'system:serviceaccount:shop:till', groups: ['system:authenticated'] }
      return world.ask(till, 'GET', `${OURS}/defenderledgers`)
    },
    refused: 403,
  },
  {
    name: 'S25 the administrator of our namespace runs a pod as the Defender',
    attempt: inside('POST', 'pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: { serviceAccountName: 'kubenode-defender', containers: [{ name: 'a', image: 'a' }] },
    }),
    control: inside('POST', 'configmaps', { ...configMap, metadata: { name: 'theirs' } }),
    refused: INSTALLER_ONLY,
  },
  {
    name: 'S25 the administrator of our namespace mints a token of the Defender',
    attempt: inside('POST', 'serviceaccounts/kubenode-defender/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: {},
    }),
    control: ({ admin }) =>
      admin.raw({
        method: 'POST',
        path: `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/kubenode-defender/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: {} },
      }),
    refused: INSTALLER_ONLY,
  },
  {
    name: 'S25 the administrator of our namespace has a token filled in',
    attempt: inside('POST', 'secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 't', annotations: { 'kubernetes.io/service-account.name': 'kubenode-defender' } },
      type: 'kubernetes.io/service-account-token',
    }),
    refused: INSTALLER_ONLY,
  },
]

tryOnServers('a second tenant', ATTEMPTS)
