// The attacker may do everything in a namespace of their own: nothing of KubeNode and of other tenants is theirs.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Attempt, type AttackWorld, tryOnServers } from '#test/support/attack-world.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const tenant =
  (method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.tenant, method, path, body === undefined ? {} : { body })

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } }

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
]

tryOnServers('a second tenant', ATTEMPTS)
