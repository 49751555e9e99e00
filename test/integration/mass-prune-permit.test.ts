// A mass deletion that users approved still needs the permit of the hub's Defender: without a Defender, with a cluster that does not answer, or with a full budget, nothing is deleted.
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { listAll } from '#kube/list-all.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const CLUSTERS = ['east-1', 'east-2', 'west-1']

/** Every cluster has two ConfigMaps, or one; both clusters of the east are in one region. */
const fleet = (configs: readonly string[]) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const clusters = { selector: {} }
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'all', clusters, maxConcurrency: 10, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' }] } })
for (const name of ${JSON.stringify(CLUSTERS)}) {
  const metadata = { labels: { 'topology.kubernetes.io/region': name.split('-')[0] ?? '' } }
  new Cluster(hub, name, { metadata, spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: 'prod' } })
  const chart = new ClusterChart(app, name)
  for (const id of ${JSON.stringify(configs)})
    new ApiObject(chart, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id, namespace: 'default' } })
}
app.synth()
`,
})

const configsIn = async (b: SyncBench, name: string) =>
  (await b.client(name).list(CONFIG_MAP, { namespace: 'default' })).items
    .map((o) => o.metadata.name ?? '')
    .filter((n) => n !== 'kube-root-ca.crt')

const permits = async (b: SyncBench) => listAll(b.hub.client, operationPermit)

const releaseOf = async (b: SyncBench, commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
const clusterOf = (r: Release | undefined, name: string) => r?.status?.clusters?.find((c) => c.name === name)

async function started(
  options: { readonly isDefended?: boolean; readonly withProxies?: boolean } = {},
): Promise<SyncBench> {
  const b = await syncBench(CLUSTERS, { prune: { enabled: true, guard: 1 } }, options)
  bench = b
  const first = b.repository.commit(fleet(['a', 'b', 'c']))
  await b.start()
  await eventually(
    () => releaseOf(b, first),
    (r) => r?.status?.phase === 'Succeeded',
  )
  return b
}

/** All deletions of the release, in every cluster. */
async function approveAll(b: SyncBench, commit: string): Promise<void> {
  const asking = await eventually(
    () => releaseOf(b, commit),
    (r) => CLUSTERS.every((name) => clusterOf(r, name)?.prune !== undefined),
  )
  const person = { name: 'ada', groups: [] }
  const wish = { reason: undefined, for: '1h' }
  for (const { digest } of requestsOf(asking as Release))
    await b.hub.client.create(approval, approvalOf({ object: asking as Release, digest }, person, wish, Date.now()))
}

const policy = (b: SyncBench, budget: object) =>
  b.hub.client.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: defenderPolicy.kind,
    metadata: { name: 'fleet' },
    spec: { operations: ['MassPrune', 'ChangeControlPlane'], budgets: [budget], mode: 'Enforce' },
  } as never)

test('an approved mass deletion waits for the Defender, and each cluster has a permit of its own', async () => {
  const b = await started({ isDefended: false })
  const second = b.repository.commit(fleet(['a']))
  await approveAll(b, second)
  const waiting = await eventually(
    () => releaseOf(b, second),
    (r) => CLUSTERS.every((name) => clusterOf(r, name)?.prune?.permit !== undefined),
  )
  expect(clusterOf(waiting, 'east-1')?.waitingFor).toMatchObject({
    predicate: 'PruneGuard',
    seen: expect.stringContaining('the Defender has not decided yet') as string,
  })
  // Approved already: nothing is left to approve there.
  expect(requestsOf(waiting as Release).filter(({ text }) => text !== undefined)).toEqual([])
  for (const name of CLUSTERS) expect(await configsIn(b, name)).toEqual(['a', 'b', 'c'])

  await b.startDefender()
  await eventually(
    () => releaseOf(b, second),
    (r) => r?.status?.phase === 'Succeeded',
  )
  for (const name of CLUSTERS) expect(await configsIn(b, name)).toEqual(['a'])
  const asked = await permits(b)
  expect(asked.map((p) => [p.spec.operations, p.spec.targets.map((t) => `${t.kind} ${t.name}`)])).toHaveLength(3)
  expect(new Set(asked.map((p) => p.spec.targets[0]?.name))).toEqual(new Set(CLUSTERS))
  expect(asked.flatMap((p) => Object.values(p.spec.results ?? {}))).toEqual(['Succeeded', 'Succeeded', 'Succeeded'])
  expect(asked.every((p) => p.spec.commit === second)).toBe(true)
  const ledger = await eventually(
    () => b.hub.client.get(defenderLedger, { name: 'cluster' }),
    (l) => l?.spec.grants?.length === 0,
  )
  expect(ledger?.spec.counts).toMatchObject({ granted: 3, succeeded: 3 })
})

test('a budget per region limits how many clusters lose objects at once, by the labels of the Clusters on the hub', async (context) => {
  // Budgets by labels have unit tests; a permit for each cluster is tested above.
  onlyInFull(context)
  const b = await started()
  await policy(b, { max: 0, of: 'concurrent', per: 'region' })
  const second = b.repository.commit(fleet(['a']))
  await approveAll(b, second)
  const waiting = await eventually(
    () => releaseOf(b, second),
    (r) =>
      CLUSTERS.every((name) => clusterOf(r, name)?.waitingFor?.seen?.includes('gate Budget: 0 concurrent in region')),
  )
  expect(clusterOf(waiting, 'west-1')?.waitingFor?.seen).toContain('in region west (0 per region)')
  for (const name of CLUSTERS) expect(await configsIn(b, name)).toEqual(['a', 'b', 'c'])
})

test('a freeze of a cluster holds its deletions, and those of other clusters continue', async (context) => {
  // What a freeze holds has unit tests.
  onlyInFull(context)
  const b = await started()
  await eventually(
    async () => (await b.hub.client.get(cluster, { name: 'west-1', namespace: SYSTEM_NAMESPACE }))?.status?.conditions,
    (conditions) => conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true,
  )
  await b.hub.client.create(operationalHold, {
    apiVersion: API_GROUP_VERSION,
    kind: operationalHold.kind,
    metadata: { name: 'west' },
    spec: {
      target: { kind: 'Cluster', namespace: SYSTEM_NAMESPACE, name: 'west-1' },
      effect: 'Freeze',
      reason: 'audit',
      author: ADMIN,
      until: new Date(Date.now() + 3_600_000).toISOString(),
    },
  } as never)
  const second = b.repository.commit(fleet(['a']))
  await approveAll(b, second)
  await eventually(
    () => releaseOf(b, second),
    (r) =>
      clusterOf(r, 'east-1')?.phase === 'Healthy' &&
      clusterOf(r, 'east-2')?.phase === 'Healthy' &&
      clusterOf(r, 'west-1')?.waitingFor?.seen?.includes('gate Hold') === true,
  )
  expect(await configsIn(b, 'west-1')).toEqual(['a', 'b', 'c'])
})

test('a cluster that stops answering is Unknown to the Defender, and its approved deletions wait', async () => {
  const b = await started({ withProxies: true, isDefended: false })
  const readyOf = async (name: string) =>
    (await b.hub.client.get(cluster, { name, namespace: SYSTEM_NAMESPACE }))?.status?.conditions?.find(
      (c) => c.type === 'Ready',
    )?.status
  await eventually(
    () => Promise.all(CLUSTERS.map(readyOf)),
    (all) => all.every((status) => status === 'True'),
  )
  // Asked for and approved while there is no Defender: the permits wait.
  const second = b.repository.commit(fleet(['a']))
  await approveAll(b, second)
  await eventually(
    () => releaseOf(b, second),
    (r) => CLUSTERS.every((name) => clusterOf(r, name)?.prune?.permit !== undefined),
  )
  const west = b.proxy('west-1')
  west.refuse = true
  west.reset()
  // When the health of each cluster is read next.
  await whileTimePasses(
    b,
    80_000,
    () => readyOf('west-1'),
    (status) => status === 'Unknown',
  )
  await b.startDefender()
  const waiting = await eventually(
    () => permits(b),
    (all) =>
      all.some(
        (p) => p.spec.targets[0]?.name === 'west-1' && JSON.stringify(p.status ?? {}).includes('SafetyReadingUnknown'),
      ),
  )
  expect(JSON.stringify(waiting.find((p) => p.spec.targets[0]?.name === 'west-1')?.status)).toContain(
    'Ready is Unknown',
  )
  expect(await configsIn(b, 'west-1')).toEqual(['a', 'b', 'c'])
}, 240_000)
