// The credential with which sync applies what a branch declares: it is of the authority of that branch's cluster, so the hub and other clusters do not know it.
import { afterEach, expect, test } from 'vitest'
import {
  ANNOTATIONS,
  hostedKubeconfigKey,
  KUBECONFIG_KEY,
  PREVIEW_USER,
  PREVIEWS_NAMESPACE,
  programUser,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isApiError } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { clusterWorld, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'
import { shippedHub } from '#test/support/worlds/shipped-hub.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const KEY = 'kubenode-system/fleet'
const RBAC_GROUP = 'rbac.authorization.k8s.io'
const CLUSTER_ROLE_BINDING = {
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
} as const

async function preview(w: ClusterWorld, branch: string): Promise<ConnectionConfig> {
  const name = `pv-${branch}`
  await w.admin.create(clusterKind, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: {
      name,
      namespace: SYSTEM_NAMESPACE,
      annotations: { [ANNOTATIONS.previewOf]: KEY, [ANNOTATIONS.previewBranch]: `preview/${branch}` },
    },
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete', ttl: '4h' },
  })
  await w.untilPhase(name, 'Ready')
  const secret = await w.admin.get(coreKind('Secret'), { name: `cluster-${name}`, namespace: PREVIEWS_NAMESPACE })
  const data = isObject(secret?.['data']) ? secret['data'][KUBECONFIG_KEY] : undefined
  return parseSafeKubeconfig(Buffer.from(String(data), 'base64').toString('utf8'), name).config
}

const ACCEPTED = 'accepted'

/** To a request that the roles of sync allow: a refusal has to be of a user who is not known, not of one whose rights are too few. */
async function answer(config: ConnectionConfig): Promise<string> {
  const client = new HttpKubeClient(config)
  try {
    await client.list(inventory, { limit: 1 })
    return ACCEPTED
  } catch (error) {
    if (isApiError(error)) return `${error.status} ${error.serverMessage}`
    throw error
  } finally {
    client.close()
  }
}

test('is accepted by the cluster of its branch, and by neither the hub nor the cluster of another branch', async () => {
  const { kinds, rest } = manifests()
  const w = (world = await clusterWorld({ addons: async () => addonsOf('1', kinds, rest) }))
  const [one, two] = [await preview(w, 'one'), await preview(w, 'two')]
  expect([await answer(one), await answer(two)]).toEqual([ACCEPTED, ACCEPTED])
  const at = (place: ConnectionConfig, { clientCertificate }: ConnectionConfig): ConnectionConfig => ({
    server: place.server,
    ...defined({ ca: place.ca, clientCertificate }),
  })
  const hub: ConnectionConfig = { server: w.hub.url, ca: { data: w.hub.ca } }
  expect(one.clientCertificate).not.toEqual(two.clientCertificate)
  const others = [at(two, one), at(one, two), at(hub, one), at(hub, two)]
  for (const other of others) expect(await answer(other)).toMatch(/^(401 |403 .*system:anonymous)/)
})

test('a job that tries a branch opens previews alone, whatever code of the branch does with its rights', async () => {
  const hub = await shippedHub()
  try {
    const metadata = { name: 'previews-ci' }
    const bound = (kind: 'ClusterRoleBinding' | 'RoleBinding', namespace?: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind,
      metadata: { ...metadata, ...defined({ namespace }) },
      roleRef: { apiGroup: RBAC_GROUP, kind: namespace === undefined ? 'ClusterRole' : 'Role', name: PREVIEW_USER },
      subjects: [{ kind: 'User', name: 'ci', apiGroup: RBAC_GROUP }],
    })
    await hub.admin.create(CLUSTER_ROLE_BINDING, bound('ClusterRoleBinding'))
    await hub.admin.create(coreKind('RoleBinding'), bound('RoleBinding', PREVIEWS_NAMESPACE))
    const keyOf = (cluster: string) => hostedKubeconfigKey(SYSTEM_NAMESPACE, cluster)
    const secrets = coreKind('Secret')
    for (const cluster of ['pv-a', 'prod'])
      await hub.program.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: keyOf(cluster) })

    const ci = hub.as('ci')
    expect(keyOf('pv-a').namespace).toBe(PREVIEWS_NAMESPACE)
    expect((await ci.get(secrets, keyOf('pv-a')))?.metadata.name).toBe('cluster-pv-a')
    expect((await ci.list(clusterKind)).items).toEqual([])
    const refused = { status: 403 }
    await expect(ci.get(secrets, keyOf('prod'))).rejects.toMatchObject(refused)
    await expect(ci.list(secrets, { namespace: PREVIEWS_NAMESPACE })).rejects.toMatchObject(refused)
    const wanted = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'pv-b', namespace: SYSTEM_NAMESPACE },
      spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' },
    } as const
    await expect(ci.create(clusterKind, wanted)).rejects.toMatchObject(refused)
    for (const cluster of ['pv-a', 'prod'])
      expect((await hub.as(programUser('sync')).get(secrets, keyOf(cluster)))?.metadata.name).toBe(`cluster-${cluster}`)
  } finally {
    await hub.close()
  }
})
