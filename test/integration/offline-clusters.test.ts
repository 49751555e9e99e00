// Clusters that do not answer while a release reaches the others are skipped after their deadline, and caught up when they return; one that joins later gets what is declared
// for it. Neither leaves the others unprotected from drift.
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const CLUSTERS = ['a', 'b']
/** Longer than any pass of a slow machine: it passes on the clock of the test. */
const OFFLINE_AFTER = '1h'
const HOUR_MS = 3_600_000
/** Longer than the time between two looks for drift. */
const DRIFT_MS = 90_000

const fleet = (version: string, registered: readonly string[] = CLUSTERS) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = { name: 'all', clusters: { selector: {} }, maxConcurrency: 10, minSuccessTime: '0s', progressDeadline: '10h', offlineDeadline: '${OFFLINE_AFTER}' }
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage] } })
for (const name of ${JSON.stringify(registered)})
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: 'prod' } })
for (const name of ${JSON.stringify(CLUSTERS)})
  new ApiObject(new ClusterChart(app, name), 'o', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'default' }, data: { version: '${version}' } })
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
const versionIn = async (b: SyncBench, name: string) =>
  (
    (await b.client(name).get(CONFIG_MAP, { name: 'o', namespace: 'default' }))?.['data'] as
      | { version?: string }
      | undefined
  )?.version

const editByHand = (b: SyncBench, name: string) =>
  b.client(name).apply(
    CONFIG_MAP,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'o', namespace: 'default' },
      data: { version: 'by hand' },
    },
    { fieldManager: 'someone', force: true },
  )

test('a release succeeds without a cluster that does not answer, and the cluster gets the newest content when it returns', async () => {
  const b = await syncBench(CLUSTERS, {}, { isDefended: false, withProxies: true })
  bench = b
  const first = b.repository.commit(fleet('1'))
  await b.start()
  await succeeds(b, first)

  const away = b.proxy('b')
  away.refuse = true
  away.reset()
  const second = b.repository.commit(fleet('2'))
  await eventually(
    () => versionIn(b, 'a'),
    (version) => version === '2',
  )
  // Before the deadline the release waits for it.
  await eventually(
    async () => (await releaseOf(b, second))?.status?.clusters?.find((c) => c.name === 'b')?.waitingFor?.predicate,
    (predicate) => predicate === 'ApiServerDown',
  )
  await whileTimePasses(
    b,
    HOUR_MS,
    () => phaseOf(b, second, 'b'),
    (phase) => phase === 'Offline',
  )
  expect((await succeeds(b, second))?.status?.stages).toMatchObject([{ name: 'all', offline: 1 }])
  expect(await versionIn(b, 'b')).toBe('1')

  // It does not leave the others unprotected.
  await editByHand(b, 'a')
  await whileTimePasses(
    b,
    DRIFT_MS,
    () => versionIn(b, 'a'),
    (version) => version === '2',
  )

  // While it is away the next release arrives too.
  const third = b.repository.commit(fleet('3'))
  await whileTimePasses(
    b,
    HOUR_MS,
    () => phaseOf(b, third, 'b'),
    (phase) => phase === 'Offline',
  )
  await succeeds(b, third)
  expect(await versionIn(b, 'a')).toBe('3')

  away.refuse = false
  await whileTimePasses(
    b,
    10_000,
    () => versionIn(b, 'b'),
    (version) => version === '3',
  )
  await whileTimePasses(
    b,
    10_000,
    () => phaseOf(b, third, 'b'),
    (phase) => phase === 'Healthy',
  )
  expect(await phaseOf(b, third, 'a')).toBe('Healthy')
}, 300_000)

test('a Cluster that is created when the release has succeeded gets what is declared for it', async () => {
  const b = await syncBench(CLUSTERS, {}, { isDefended: false })
  bench = b
  const first = b.repository.commit(fleet('1', ['a']))
  await b.start()
  await succeeds(b, first)
  expect(await phaseOf(b, first, 'b')).toBe('Waiting')
  // What waits for a Cluster leaves the others protected.
  await editByHand(b, 'a')
  await whileTimePasses(
    b,
    DRIFT_MS,
    () => versionIn(b, 'a'),
    (version) => version === '1',
  )

  await b.hub.client.apply(
    clusterKind,
    {
      apiVersion: API_GROUP_VERSION,
      kind: clusterKind.kind,
      metadata: { name: 'b', namespace: SYSTEM_NAMESPACE },
      spec: { kubeconfigSecretRef: { name: 'cluster-b', key: 'kubeconfig' }, stage: 'prod' },
    },
    { fieldManager: 'someone', force: true },
  )
  await eventually(
    () => versionIn(b, 'b'),
    (version) => version === '1',
  )
  await eventually(
    () => phaseOf(b, first, 'b'),
    (phase) => phase === 'Healthy',
  )
  await succeeds(b, first)
}, 300_000)
