// The attacker may write Clusters: sync opens no Secret for them that they cannot read themselves.
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Answer, type Attempt, type AttackWorld, tryOnServers } from '#test/support/worlds/attack-world.ts'
import { defined } from '#lib/defined.ts'

const RBAC = 'rbac.authorization.k8s.io'
const clustersIn = (namespace: string): string => `/apis/kubenode.io/v1alpha1/namespaces/${namespace}/clusters`
const CLUSTERS = clustersIn(SYSTEM_NAMESPACE)

async function madeBy({ ask, who }: AttackWorld, path: string, body: object): Promise<void> {
  const { status, text } = await ask(who.installer, 'POST', path, { body })
  if (status !== 201 && status !== 409) throw new Error(`cannot prepare ${path}: ${text}`)
}

async function given(
  world: AttackWorld,
  { name, namespace, rules }: { readonly name: string; readonly namespace: string; readonly rules: readonly object[] },
): Promise<void> {
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name, namespace }]
  const at = `/apis/${apiVersion}/namespaces/${namespace}`
  await madeBy(world, `${at}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  const roleRef = { apiGroup: RBAC, kind: 'Role', name }
  const subjects = [{ kind: 'User', name: world.who.tenant.user, apiGroup: RBAC }]
  await madeBy(world, `${at}/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects })
}

const clusterOf = (name: string, spec: object) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name },
  spec,
})
const pointsAt = (name: string, key?: string) => ({
  kubeconfigSecretRef: { name, ...defined({ key }) },
  stage: 'test',
})

/** May write Clusters, and read the kubeconfig of cluster `own` alone. */
const clusterAuthor = async (world: AttackWorld): Promise<void> => {
  await given(world, {
    name: 'clusters',
    namespace: SYSTEM_NAMESPACE,
    rules: [{ apiGroups: ['kubenode.io'], resources: ['clusters', 'clusters/status'], verbs: ['*'] }],
  })
  await given(world, {
    name: 'own-kubeconfig',
    namespace: CLUSTERS_NAMESPACE,
    rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['cluster-own'], verbs: ['get'] }],
  })
  await madeBy(world, CLUSTERS, clusterOf('test', pointsAt('cluster-test', 'kubeconfig')))
}
const asTenant =
  (method: string, path: string, body: object) =>
  async (world: AttackWorld): Promise<Answer> => {
    await clusterAuthor(world)
    return world.ask(world.who.tenant, method, path, { body })
  }

const REFUSED = /right to read that Secret/
const own = asTenant('POST', `${CLUSTERS}?dryRun=All`, clusterOf('own', pointsAt('cluster-own')))

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'S25 who may write Clusters makes one with the kubeconfig of another',
    attempt: asTenant('POST', CLUSTERS, clusterOf('mine', pointsAt('cluster-prod'))),
    control: own,
    refused: REFUSED,
  },
  {
    name: 'S25 who may write Clusters points one at the kubeconfig of another',
    attempt: asTenant('PATCH', `${CLUSTERS}/test`, { spec: pointsAt('cluster-prod') }),
    control: asTenant('PATCH', `${CLUSTERS}/test?dryRun=All`, { spec: pointsAt('cluster-own') }),
    refused: REFUSED,
  },
  {
    name: 'S25 who may write Clusters points one at another key of its Secret',
    attempt: asTenant('PATCH', `${CLUSTERS}/test`, { spec: pointsAt('cluster-test', 'other') }),
    control: asTenant('PATCH', `${CLUSTERS}/test`, { spec: { stage: 'prod' } }),
    refused: REFUSED,
  },
  {
    name: 'S25 who may write the status of Clusters says that the kubeconfig of another was made for one',
    attempt: asTenant('PATCH', `${CLUSTERS}/test/status`, { status: { kubeconfigSecret: { name: 'cluster-prod' } } }),
    control: asTenant('PATCH', `${CLUSTERS}/test/status`, { status: { endpoint: 'https://api.example.org' } }),
    refused: REFUSED,
  },
  {
    name: 'S25 who may do everything in a namespace names the kubeconfig of a member from there',
    attempt: ({ ask, who }) =>
      ask(who.tenant, 'POST', clustersIn(CLUSTERS_NAMESPACE), { body: clusterOf('mine', pointsAt('cluster-prod')) }),
    // Of their own namespace they read every Secret anyway.
    control: ({ ask, who }) =>
      ask(who.tenant, 'POST', `${clustersIn('shop')}?dryRun=All`, {
        body: clusterOf('mine', pointsAt('cluster-mine')),
      }),
    refused: 403,
  },
]

tryOnServers('who may write Clusters', ATTEMPTS)
