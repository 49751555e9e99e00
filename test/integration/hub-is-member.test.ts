// A hub that is a member of its own fleet, with one track: what the hub declares and what the member declares are kept apart, also after an upgrade.
import { afterEach, expect, test } from 'vitest'
import { cluster } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(() => bench?.close())

const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
const fleet = (...names: readonly string[]) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'own', clusters: { names: ['own'] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
new Cluster(hub, 'own', { spec: { kubeconfigSecretRef: { name: 'cluster-own', key: 'kubeconfig' }, stage: 'own' } })
const chart = new ClusterChart(app, 'own')
for (const name of ${JSON.stringify(names)}) new ApiObject(chart, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
app.synth()
`,
})

test('nothing is held or deleted of the hub when the member changes, before and after the Inventory of an earlier release is divided', async () => {
  const b = await syncBench([], { prune: { guard: '100%' } })
  bench = b
  const { server, client } = b.hub
  const metadata = { name: 'cluster-own', namespace: CLUSTERS_NAMESPACE }
  const data = { kubeconfig: Buffer.from(server.adminKubeconfig()).toString('base64') }
  await client.apply(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data }, by)
  const configs = async () =>
    (await client.list(CONFIG_MAP, { namespace: 'default' })).items
      .map((o) => o.metadata.name ?? '')
      .filter((name) => name.length === 1)
  const uids = async () =>
    (await Promise.all([client.list(cluster), client.list(releasePipeline)])).flatMap(({ items }) =>
      items.map((o) => o.metadata.uid),
    )
  const is = async (...names: readonly string[]) => {
    await eventually(configs, (seen) => seen.join() === names.join())
    await eventually(
      async () =>
        (await b.releases()).toSorted((x, y) => ((x.status?.startedAt ?? '') < (y.status?.startedAt ?? '') ? 1 : -1)),
      (all) => all[0]?.status?.phase === 'Succeeded',
    )
  }
  const inventories = async () =>
    (await client.list(inventory)).items.map(({ spec }) => [
      spec.target,
      spec.refs.map((r) => `${r.kind}/${r.name}`).join(),
    ])

  b.repository.commit(fleet('a', 'b'))
  const stop = await b.start()
  await is('a', 'b')
  const before = await uids()
  expect(before).toHaveLength(2)
  b.repository.commit(fleet('a', 'c'))
  await is('a', 'c')
  await stop()
  expect([await inventories(), await uids()]).toEqual([
    [
      ['Hub', 'Cluster/own,ReleasePipeline/standard'],
      ['Member', 'ConfigMap/a,ConfigMap/c'],
    ],
    before,
  ])

  // As a release that kept one for both.
  const shards = (await client.list(inventory)).items
  for (const s of shards) await client.delete(inventory, { name: s.metadata.name ?? '' })
  const { target: _, cluster: __, ...spec } = { ...shards[0]!.spec, ...shards[1]!.spec }
  const refs = shards.flatMap((s) => s.spec.refs)
  const one = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Inventory',
    metadata: { name: 'kubenode-system.fleet.fleet.0' },
  }
  await client.apply(
    inventory,
    { ...one, spec: { ...spec, refs } },
    {
      fieldManager: 'kubenode-sync',
      force: true,
    },
  )

  b.repository.commit(fleet('c', 'd'))
  await b.start()
  await is('c', 'd')
  const divided = await eventually(inventories, (seen) => seen.length === 2)
  expect([divided, await uids()]).toEqual([
    [
      ['Hub', 'Cluster/own,ReleasePipeline/standard'],
      ['Member', 'ConfigMap/c,ConfigMap/d'],
    ],
    before,
  ])
})
