// A new control plane on the hub gets the kinds, roles and policies of KubeNode before it is Ready, so that sync can declare objects in it at once.
import { afterEach, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Addons, addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { manifests } from '#test/support/servers/installed.ts'
import { type ClusterWorld, clusterWorld } from '#test/support/worlds/cluster-world.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const { kinds, rest } = manifests()
const whole = (version = '1'): Addons => addonsOf(version, kinds, rest)

async function as<T>(
  w: ClusterWorld,
  user: string,
  groups: readonly string[],
  work: (client: HttpKubeClient) => Promise<T>,
) {
  const text = await w.host.kubeconfig(`${SYSTEM_NAMESPACE}.one`, { user, groups, lifeMs: 3_600_000 })
  const client = new HttpKubeClient(parseSafeKubeconfig(text ?? '', 'one').config)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}
const asAdmin = <T>(w: ClusterWorld, work: (client: HttpKubeClient) => Promise<T>) =>
  as(w, 'admin', ['system:masters'], work)

const declareMachine = (client: HttpKubeClient, name: string) =>
  client.create(machine, { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name }, spec: {} } as never)

test('sync declares a Machine in a new cluster as soon as it is Ready, also after its upgrade and the restore of a snapshot', async () => {
  const w = (world = await clusterWorld({ addons: async () => whole() }))
  await w.declare('one', { version: '1.35.2' })
  const { status } = await w.untilPhase('one', 'Ready')
  expect(status?.addons).toEqual([{ name: 'kubenode', version: whole().version, healthy: 'True' }])
  await as(w, 'kubenode:sync', [], (client) => declareMachine(client, 'first'))

  const controlPlane = { flavor: 'embedded' as const, snapshot: 'mine' }
  await w.declare('one', { version: '1.35.2', controlPlane })
  await w.until('the snapshot', async () => (await w.get('one'))?.status?.snapshots?.length === 1)
  await w.declare('one', { version: '1.36.0', controlPlane })
  await w.until('the upgrade', async () => (await w.get('one'))?.status?.versions?.[0]?.version === '1.36.0')
  await as(w, 'kubenode:sync', [], (client) => declareMachine(client, 'second'))

  await w.declare('one', { controlPlane: { flavor: 'embedded', restore: { snapshot: 'mine', attempt: 1 } } })
  await w.until('the restore', async () => (await w.get('one'))?.status?.restored === 'mine/1')
  await w.untilPhase('one', 'Ready')
  const names = await asAdmin(w, async (c) => (await c.list(machine)).items.map((m) => m.metadata.name))
  expect(names).toEqual(['first'])
})

test('those of another release are applied to a cluster that is Ready, which stays so', async () => {
  let addons = whole('1')
  const w = (world = await clusterWorld({ addons: async () => addons }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const more = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more', namespace: SYSTEM_NAMESPACE } }
  addons = addonsOf('2', kinds, [...rest, more])
  await w.stopController()
  await w.startController()
  const isNew = async () => (await w.get('one'))?.status?.addons?.[0]?.version === addons.version
  await w.until('the addons of the next release', isNew)
  expect((await w.get('one'))?.status?.phase).toBe('Ready')
  const key = { name: 'more', namespace: SYSTEM_NAMESPACE }
  expect(await asAdmin(w, (client) => client.get(coreKind('ConfigMap'), key))).toBeDefined()
})

test('what a release no longer has is removed from a cluster, but no namespace with all that is in it', async () => {
  const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kubenode-old' } }
  const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'kubenode-old' } })
  let addons = addonsOf('1', kinds, [...rest, shop, map('old'), map('taken')])
  const w = (world = await clusterWorld({ addons: async () => addons }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const key = (name: string) => ({ name, namespace: 'kubenode-old' })
  const names = (client: HttpKubeClient) =>
    Promise.all(
      ['old', 'taken', 'theirs'].map(async (n) => (await client.get(coreKind('ConfigMap'), key(n)))?.metadata.name),
    )
  await asAdmin(w, async (client) => {
    await client.create(coreKind('ConfigMap'), map('theirs'))
    // A source of the cluster declares it from now on.
    const value = { metadata: { annotations: { [ANNOTATIONS.source]: 'fleet/shop' } } }
    await client.patch(coreKind('ConfigMap'), key('taken'), { type: 'merge', value })
  })
  addons = whole('2')
  await w.stopController()
  await w.startController()
  const isNew = async () => (await w.get('one'))?.status?.addons?.[0]?.version === addons.version
  await w.until('the addons of the next release', isNew)
  expect(await asAdmin(w, names)).toEqual([undefined, 'taken', 'theirs'])
  const namespace = await asAdmin(w, (client) => client.get(coreKind('Namespace'), { name: 'kubenode-old' }))
  expect(namespace?.metadata.deletionTimestamp).toBeUndefined()
})

test('an object that the API server refuses is named with its answer, the cluster is not Ready, and a mend lets it go on', async () => {
  const wrong = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'Wrong Name', namespace: 'nowhere' } }
  let addons = addonsOf('1', kinds, [...rest, wrong])
  const w = (world = await clusterWorld({ addons: async () => addons }))
  await w.declare('one')
  await w.until('the failure', async () => (await w.get('one'))?.status?.waitingFor?.predicate === 'AddonFailed')
  const failed = await w.get('one')
  expect(failed?.status).toMatchObject({
    phase: 'Addons',
    waitingFor: { seen: expect.stringMatching(/^ConfigMap nowhere\/Wrong Name: .*(Invalid|invalid|not found)/) },
    addons: [{ healthy: 'False' }],
  })
  addons = whole()
  await w.untilPhase('one', 'Ready')
  expect((await w.get('one'))?.status?.waitingFor).toBeUndefined()
})
