// An uninstall beside what only looks like ours: objects of people and of commits that have the label of an installation stay, whatever they are called.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { definitionType, deploymentType } from '#install/observe.ts'
import { PART_OF } from '#install/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { releaseOf, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'
import { defined } from '#lib/defined.ts'

let world: InstallWorld
beforeAll(async () => void (world = await startInstallWorld()))
afterAll(() => world?.stop())

const labels = { [PART_OF]: 'kubenode' }
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const roles: ResourceType = { ...RBAC, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false }
const bindings: ResourceType = { ...RBAC, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true }
const namespaces = coreKind('Namespace')
const configMaps = coreKind('ConfigMap')
const secrets = coreKind('Secret')

const inTeam = { name: 'apiserver', namespace: 'tenant-1', labels }
const template = { metadata: { labels }, spec: { containers: [{ name: 'apiserver', image: 'apiserver' }] } }
const subjects = [{ kind: 'User', name: 'ada', apiGroup: RBAC.group }]
const THEIRS: readonly (readonly [ResourceType, KubeObject])[] = [
  [namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant-1', labels } }],
  [namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kubenode-dashboards', labels } }],
  [configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'dashboard', namespace: 'default', labels } }],
  [secrets, { apiVersion: 'v1', kind: 'Secret', metadata: inTeam }],
  // As the construct of a control plane labels it.
  [
    deploymentType,
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: inTeam,
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    },
  ],
  [roles, { apiVersion: `${RBAC.group}/v1`, kind: 'ClusterRole', metadata: { name: 'team-a', labels }, rules: [] }],
  [
    bindings,
    {
      apiVersion: `${RBAC.group}/v1`,
      kind: 'RoleBinding',
      metadata: inTeam,
      roleRef: { apiGroup: RBAC.group, kind: 'ClusterRole', name: 'team-a' },
      subjects,
    },
  ],
]

/** In the group of KubeNode, and in no release of it. */
const gadgets: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.kubenode.io' },
  spec: {
    group: 'kubenode.io',
    scope: 'Cluster',
    names: { kind: 'Gadget', plural: 'gadgets' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

const things: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.org' },
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

const withoutRightOn = (plural: string): KubeClient =>
  new Proxy(world.admin, {
    get:
      (client, method: keyof KubeClient) =>
      async (...args: unknown[]) => {
        const type = args[0] as ResourceType
        if (method === 'list' && type.plural === plural)
          throw new ApiError(
            { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', code: 403, reason: 'Forbidden' },
            { action: 'list', target: plural },
          )
        return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
      },
  })

const present = async (): Promise<readonly string[]> => {
  const found = await Promise.all(
    THEIRS.map(async ([type, { kind, metadata }]) => {
      const { name = '', namespace } = metadata
      const key = { name, ...defined({ namespace }) }
      const object = await world.admin.get(type, key)
      return object === undefined || object.metadata.deletionTimestamp !== undefined ? [] : [`${kind} ${name}`]
    }),
  )
  return found.flat()
}

test('objects with our label in namespaces of others neither stop an upgrade nor go with an uninstall', async () => {
  await world.install(releaseOf('0.1.0'))
  for (const [type, object] of THEIRS) await world.admin.create(type, object)
  const before = await present()
  expect(before).toHaveLength(THEIRS.length)
  await world.install(releaseOf('0.2.0'), { isUpgrade: true })
  const inClusters = { name: 'cluster-prod', namespace: 'kubenode-clusters' }
  await world.admin.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: inClusters })
  const selector = { matchLabels: { app: 'shop' } }
  const pod = { metadata: { labels: { app: 'shop' } }, spec: template.spec }
  await world.admin.create(deploymentType, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace: 'kubenode-system' },
    spec: { replicas: 0, selector, template: pod },
  })
  const byHand = { fieldManager: 'kubectl-create' }
  const notes = { name: 'notes', namespace: 'kubenode-system' }
  const named = { name: 'kubenode-git', namespace: 'kubenode-clusters' }
  await world.admin.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: notes }, byHand)
  await world.admin.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: named }, byHand)
  await world.admin.create(definitionType, things)
  const thing = { group: 'example.org', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true }
  const object = { apiVersion: 'example.org/v1', kind: 'Thing', metadata: notes }
  await eventually(
    () => world.admin.create(thing, object).catch(() => undefined),
    (made) => made !== undefined,
  )
  let shown: readonly string[] = []
  const confirm = async (lines: readonly string[]) => void (shown = lines)
  await world.uninstall({ dryRun: true, confirm }, withoutRightOn('things'))
  expect(shown.join()).toMatch(/ConfigMap kubenode-system\/notes, Thing \(cannot be read: Forbidden\)$/)
  await world.uninstall({ deleteDefinitions: true, confirm })
  expect(shown.filter((line) => line.includes('--keep-namespace'))).toEqual([
    'deleted with the namespaces of KubeNode as well (--keep-namespace keeps them): Secret kubenode-clusters/cluster-prod, Secret kubenode-clusters/kubenode-git, Deployment kubenode-system/shop, ConfigMap kubenode-system/notes, Thing kubenode-system/notes',
  ])
  expect(await world.admin.get(namespaces, { name: 'kubenode-system' })).toBeUndefined()
  expect(await present()).toEqual(before)
})

test('an uninstall with definitions leaves those of others in our group, and names them', async () => {
  const { admin } = world
  await world.install(releaseOf('0.1.0'))
  await admin.delete(definitionType, { name: 'things.example.org' })
  await admin.create(definitionType, gadgets)
  let shown: readonly string[] = []
  await world.uninstall({ deleteDefinitions: true, confirm: async (lines) => void (shown = lines) })
  expect(shown.at(-1)).toBe('kept, as it is not of KubeNode: customresourcedefinition gadgets.kubenode.io')
  expect((await listAll(admin, definitionType)).map((d) => d.metadata.name)).toEqual(['gadgets.kubenode.io'])
})
