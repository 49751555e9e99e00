// The attacker may do everything in a namespace of their own: nothing of KubeNode and of other tenants is theirs.
import { AGENTS_NAMESPACE, OWN_NAMESPACES, SYSTEM_NAMESPACE, sourceUser } from '#api/names.ts'
import {
  type Answer,
  type AskOptions,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const tenant =
  (method: string, path: string, body?: unknown) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.tenant, method, path, body === undefined ? {} : { body })

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } }

/** A user was given all rights in a namespace of KubeNode, as the administrator of a namespace is. */
const inside = (method: string, path: string, body: object, namespace: string = SYSTEM_NAMESPACE) =>
  insideAt(method, `/api/v1/namespaces/${namespace}/${path}`, { body }, namespace)

const insideAt =
  (method: string, path: string, options: AskOptions, namespace: string = SYSTEM_NAMESPACE) =>
  async ({ admin, ask }: AttackWorld) => {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const metadata = { name: 'inside', namespace }
    const post = (plural: string, object: object) =>
      admin.raw({ method: 'POST', path: `/apis/${apiVersion}/namespaces/${namespace}/${plural}`, body: object })
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    await post('roles', { apiVersion, kind: 'Role', metadata, rules })
    const subjects = [{ kind: 'User', name: 'inside', apiGroup: 'rbac.authorization.k8s.io' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'inside' }
    await post('rolebindings', { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef })
    // A controller manager makes it; without it a server refuses every pod, before it asks a policy.
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
    await admin.raw({ method: 'POST', path: `/api/v1/namespaces/${namespace}/serviceaccounts`, body: account })
    const who = { user: 'inside', groups: ['system:authenticated'] }
    return ask(who, method, path, options)
  }

/** Passes the security level of our namespaces: what refuses it is a policy. */
const restricted = (more: object) => ({
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    { name: 'a', image: 'a', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
  ],
  ...more,
})
const INSTALLER_ONLY = /only the installer makes/

const OWN_DEPLOYMENTS = `/apis/apps/v1/namespaces/${SYSTEM_NAMESPACE}/deployments`
const OWN_PODS = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`

/** The attempt, once the installer has made the program and its pod. */
const amongPrograms = (attempt: Attempt['attempt']) => async (world: AttackWorld) => {
  const made = (path: string, body: object) => world.admin.raw({ method: 'POST', path, body })
  const labels = { app: 'kept' }
  const template = { metadata: { labels }, spec: restricted({}) }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  await made(OWN_DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'kept' }, spec })
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  await made(`/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts`, account)
  await made(OWN_PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'kept' }, spec: restricted({}) })
  return attempt(world)
}
const scaled = (replicas: number): AskOptions => ({ body: { spec: { replicas } } })

/** The embedded server runs no commands in pods. */
const ENTERED_NOWHERE = /only the installer makes|^404 /

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
      spec: restricted({ serviceAccountName: 'kubenode-defender' }),
    }),
    control: inside('POST', 'configmaps', { ...configMap, metadata: { name: 'theirs' } }),
    refused: INSTALLER_ONLY,
  },
  {
    name: 'S25 the administrator of our namespace scales a program to zero',
    attempt: amongPrograms(insideAt('PATCH', `${OWN_DEPLOYMENTS}/kept/scale`, scaled(0))),
    control: ({ ask, who }) => ask(who.installer, 'PATCH', `${OWN_DEPLOYMENTS}/kept/scale`, scaled(2)),
    refused: INSTALLER_ONLY,
  },
  {
    name: 'S25 the administrator of our namespace sets the replicas of a program to zero',
    attempt: amongPrograms(insideAt('PATCH', `${OWN_DEPLOYMENTS}/kept`, scaled(0))),
    refused: INSTALLER_ONLY,
  },
  ...['exec?command=id&stdout=true', 'attach?stdout=true'].map((how): Attempt => ({
    name: `S25 the administrator of our namespace enters a pod of a program by ${how.replace(/\?.*/, '')}`,
    attempt: amongPrograms(insideAt('POST', `${OWN_PODS}/kept/${how}&container=a`, {})),
    refused: ENTERED_NOWHERE,
  })),
  {
    name: 'S25 the administrator of our namespace adds a container to a pod of a program',
    attempt: amongPrograms(
      insideAt('PATCH', `${OWN_PODS}/kept/ephemeralcontainers`, {
        body: { spec: { ephemeralContainers: [{ ...restricted({}).containers[0], name: 'b' }] } },
        type: 'application/strategic-merge-patch+json',
      }),
    ),
    refused: INSTALLER_ONLY,
  },
  // Of the namespace of agents no user is the administrator: agent-account.test.ts.
  ...OWN_NAMESPACES.filter((n) => n !== AGENTS_NAMESPACE).map((namespace): Attempt => ({
    name: `S25 the administrator of ${namespace} runs a pod that mounts what only a program reads`,
    attempt: inside(
      'POST',
      'pods',
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'b' },
        spec: restricted({ volumes: [{ name: 'v', secret: { secretName: 'cluster-prod' } }] }),
      },
      namespace,
    ),
    control: inside('POST', 'configmaps', { ...configMap, metadata: { name: 'theirs-too' } }, namespace),
    refused: INSTALLER_ONLY,
  })),
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

/** Whom sync acts as for a source of the tenant. */
const SOURCE: Who = { user: sourceUser('shop', 'shop'), groups: ['system:authenticated'] }
const RBAC = 'rbac.authorization.k8s.io'
const rbac = (kind: string, plural: string) => ({ group: RBAC, version: 'v1', kind, plural, namespaced: true })

/** Into its namespace, as docs/operations/security.md has it: the kinds that it declares, and no wildcard. */
async function letIn({ admin, ask }: AttackWorld): Promise<void> {
  const base = { apiVersion: `${RBAC}/v1`, metadata: { namespace: 'shop', name: 'source' } }
  const by = { fieldManager: 'installer', force: true }
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['*'] },
  ]
  await admin.apply(rbac('Role', 'roles'), { ...base, kind: 'Role', rules }, by)
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: 'source' }
  const subjects = [{ kind: 'User', name: SOURCE.user, apiGroup: RBAC }]
  await admin.apply(rbac('RoleBinding', 'rolebindings'), { ...base, kind: 'RoleBinding', roleRef, subjects }, by)
  // A real server takes a moment until a binding counts.
  const look = () => ask(SOURCE, 'GET', '/api/v1/namespaces/shop/configmaps')
  await eventually(look, ({ status }) => status === 200)
}

const applied =
  (path: string, body: object) =>
  async (world: AttackWorld): Promise<Answer> => {
    await letIn(world)
    const manager = 'fieldManager=kubenode-sync.shop.shop&force=true'
    return world.ask(SOURCE, 'PATCH', `${path}?${manager}`, { body, type: 'application/apply-patch+yaml' })
  }
const inventory = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Inventory',
  metadata: { name: 'kubenode-system.fleet.main.0' },
  spec: { source: 'kubenode-system/fleet', track: 'main', shard: 0, shards: 1, refs: [] },
}
const deployment = (pod: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'till' } },
    template: {
      metadata: { labels: { app: 'till' } },
      spec: { containers: [{ name: 'till', image: 'till' }], ...pod },
    },
  },
})
const DEPLOYMENT = '/apis/apps/v1/namespaces/shop/deployments/till'

const FROM_GIT: readonly Attempt[] = [
  {
    name: 'S27 the source of a tenant forges what sync applied for another',
    attempt: applied(`${OURS}/inventories/kubenode-system.fleet.main.0`, inventory),
    refused: 403,
  },
  {
    name: 'S19, S27 the source of a tenant lists what others deployed',
    attempt: async (world) => {
      await letIn(world)
      return world.ask(SOURCE, 'GET', `${OURS}/inventories`)
    },
    refused: 403,
  },
  {
    name: 'S27 the source of a tenant widens its own spec.writes',
    attempt: applied(`${OURS}/namespaces/kubenode-system/fleetsources/fleet`, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'fleet' },
      spec: { url: 'https://evil.example/fleet.git', tracks: [{ name: 'main', pipelineRef: { name: 'standard' } }] },
    }),
    refused: 403,
  },
  {
    name: 'S3, S19 the source of a tenant writes into the namespace of another',
    attempt: applied('/api/v1/namespaces/default/configmaps/mine', configMap),
    control: applied('/api/v1/namespaces/shop/configmaps/mine', configMap),
    refused: 403,
  },
  {
    name: 'S25 the source of a tenant runs pods as an account that is not listed',
    attempt: applied(DEPLOYMENT, deployment({ serviceAccountName: 'till' })),
    control: applied(DEPLOYMENT, deployment()),
    refused: /service account that the installer did not list/,
  },
  {
    name: 'S25 the source of a tenant mounts a folder of the node',
    attempt: applied(DEPLOYMENT, deployment({ volumes: [{ name: 'host', hostPath: { path: '/' } }] })),
    control: applied(DEPLOYMENT, deployment()),
    refused: /power of its node/,
  },
  ...['system:admin', 'kubenode:defender', 'kubenode:source:shop:other'].map((user): Attempt => ({
    name: `S3 a stolen key of sync acts as ${user}`,
    attempt: ({ ask, who }) =>
      ask(who.sync, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { verb: 'impersonate', group: '', resource: 'users', name: user } },
        },
      }),
    refused: /"allowed":\s*false/,
  })),
]

tryOnServers('a second tenant', ATTEMPTS)
tryOnServers('the source of a second tenant', FROM_GIT)
