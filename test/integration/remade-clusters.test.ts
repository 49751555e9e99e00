// A Cluster that is deleted and made again under its name is another one: what a release brought to the first is brought to the second. Clusters to which the
// newest release brings nothing new are protected from drift like those that it changed.
import { afterEach, expect, test } from 'vitest'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

/** Longer than the time between two looks for drift. */
const DRIFT_MS = 90_000

const fleet = (versions: Readonly<Record<string, string>>) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = { name: 'all', clusters: { selector: {} }, maxConcurrency: 10, minSuccessTime: '0s', progressDeadline: '10h', offlineDeadline: '1h' }
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage] } })
for (const [name, version] of Object.entries(${JSON.stringify(versions)})) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: 'prod' } })
  new ApiObject(new ClusterChart(app, name), 'o', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'default' }, data: { version } })
}
app.synth()
`,
})

const releaseOf = async (b: SyncBench, commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
const phaseOf = async (b: SyncBench, commit: string, name: string) =>
  (await releaseOf(b, commit))?.status?.clusters?.find((c) => c.name === name)?.phase
const succeeds = (b: SyncBench, commit: string) =>
  eventually(
    () => releaseOf(b, commit),
    (r) => r?.status?.phase === 'Succeeded',
  )
const O = { name: 'o', namespace: 'default' }
const versionIn = async (b: SyncBench, name: string) =>
  ((await b.client(name).get(CONFIG_MAP, O))?.['data'] as { version?: string } | undefined)?.version
const clusterB = { name: 'b', namespace: SYSTEM_NAMESPACE }

/** As a control plane that was made again has it. */
async function emptied(b: SyncBench): Promise<void> {
  await b.client('b').delete(CONFIG_MAP, O)
  for (const { metadata } of (await b.client('b').list(inventory)).items)
    await b.client('b').delete(inventory, { name: metadata.name ?? '' })
}

test('a cluster that git removes and brings back gets everything again', async () => {
  const b = await syncBench(['a', 'b'], {}, { isDefended: false })
  bench = b
  const both = fleet({ a: '1', b: '1' })
  await b.start()
  await succeeds(b, b.repository.commit(both))
  await succeeds(b, b.repository.commit(fleet({ a: '1' })))
  await eventually(
    () => b.hub.client.get(clusterKind, clusterB),
    (found) => found === undefined,
  )
  await emptied(b)
  const again = b.repository.commit(both)
  await eventually(
    () => phaseOf(b, again, 'b'),
    (phase) => phase === 'Healthy',
  )
  expect(await versionIn(b, 'b')).toBe('1')
  expect(await phaseOf(b, again, 'a')).toBe('Unchanged')
}, 300_000)

test('a cluster that a person deletes on the hub, and sync makes again, gets everything again', async () => {
  const b = await syncBench(['a', 'b'], {}, { isDefended: false })
  bench = b
  await b.start()
  const only = b.repository.commit(fleet({ a: '1', b: '1' }))
  await succeeds(b, only)
  const first = await b.hub.client.get(clusterKind, clusterB)
  await emptied(b)
  await b.hub.client.delete(clusterKind, clusterB)
  await whileTimePasses(
    b,
    DRIFT_MS,
    () => b.hub.client.get(clusterKind, clusterB),
    (found) => found !== undefined && found.metadata.uid !== first?.metadata.uid,
  )
  await eventually(
    () => versionIn(b, 'b'),
    (version) => version === '1',
  )
  const entry = (await releaseOf(b, only))?.status?.clusters?.find((c) => c.name === 'b')
  const second = await b.hub.client.get(clusterKind, clusterB)
  expect(entry?.uid).toBe(second?.metadata.uid)
}, 300_000)

test('a cluster that git brings back while it is being deleted is made again as soon as its deletion ends', async () => {
  const b = await syncBench(['a', 'b'], {}, { isDefended: false })
  bench = b
  const both = fleet({ a: '1', b: '1' })
  await b.start()
  await succeeds(b, b.repository.commit(both))
  const first = await b.hub.client.get(clusterKind, clusterB)
  const finalizers = (value: readonly string[] | null) =>
    b.hub.client.patch(clusterKind, clusterB, { type: 'merge', value: { metadata: { finalizers: value } } as never })
  await finalizers(['example.org/kept'])
  // Its release lasts as long as the deletion.
  b.repository.commit(fleet({ a: '1' }))
  await eventually(
    () => b.hub.client.get(clusterKind, clusterB),
    (found) => found?.metadata.deletionTimestamp !== undefined,
  )
  await emptied(b)
  const again = b.repository.commit(both)
  const waits = async () => (await releaseOf(b, again))?.status?.clusters?.find((c) => c.name === 'b')?.waitingFor?.seen
  await eventually(waits, (seen) => seen === 'Cluster b is being deleted')
  // Whatever was created there would be deleted with it.
  expect(await versionIn(b, 'b')).toBeUndefined()
  await finalizers(null)
  // Long before the next comparison of the hub.
  await eventually(
    () => b.hub.client.get(clusterKind, clusterB),
    (found) => found !== undefined && found.metadata.uid !== first?.metadata.uid,
    30_000,
  )
  await eventually(
    () => versionIn(b, 'b'),
    (version) => version === '1',
  )
  await succeeds(b, again)
}, 300_000)

test('a cluster to which the newest release brings nothing new is protected from drift', async () => {
  const b = await syncBench(['a', 'b'], {}, { isDefended: false })
  bench = b
  await b.start()
  await succeeds(b, b.repository.commit(fleet({ a: '1', b: '1' })))
  const second = b.repository.commit(fleet({ a: '2', b: '1' }))
  await succeeds(b, second)
  expect(await phaseOf(b, second, 'b')).toBe('Unchanged')
  await b.client('b').delete(CONFIG_MAP, O)
  await whileTimePasses(
    b,
    DRIFT_MS,
    () => versionIn(b, 'b'),
    (version) => version === '1',
  )
}, 300_000)

test('a cluster whose control plane was restored gets at once what is declared now', async () => {
  const b = await syncBench(['a', 'b'], {}, { isDefended: false })
  bench = b
  await b.start()
  await succeeds(b, b.repository.commit(fleet({ a: '1', b: '1' })))
  const second = b.repository.commit(fleet({ a: '1', b: '2' }))
  await succeeds(b, second)
  const before = await b.client('b').get(CONFIG_MAP, O)
  await b.client('b').update(CONFIG_MAP, { ...before, data: { version: '1' } } as never)
  const value = { status: { restored: 'one/1' } }
  await b.hub.client.patch(clusterKind, clusterB, { type: 'merge', value }, { subresource: 'status' })
  // Long before the next look for drift.
  await eventually(
    () => versionIn(b, 'b'),
    (version) => version === '2',
    30_000,
  )
  await eventually(
    async () => (await releaseOf(b, second))?.status?.clusters?.find((c) => c.name === 'b'),
    (entry) => entry?.phase === 'Healthy' && entry.restored === 'one/1',
  )
}, 300_000)
