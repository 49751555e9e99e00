// A commit that removes the last object of a track in a cluster deletes it there, under the guard as any deletion; a cluster that leaves the fleet is left alone.
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { fleetSource, type FleetSourceInput } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { CONFIG_MAP, eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { inFullAll, onlyInFull } from '#test/support/tools/full.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

/** What each cluster has, as `kind:name`; a cluster without an entry is not in the fleet. */
type Declared = Readonly<Record<string, readonly string[] | 'no chart'>>

const fleet = (declared: Declared) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = (name: string) => ({ name, clusters: { names: [name] }, minSuccessTime: '0s', progressDeadline: '10m', offlineDeadline: '1h' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test'), stage('prod')] } })
for (const [name, objects] of Object.entries(${JSON.stringify(declared)} as Record<string, string[] | string>)) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  if (typeof objects === 'string') continue
  const chart = new ClusterChart(app, name)
  for (const object of objects) {
    const [kind, id] = object.split(':') as [string, string]
    new ApiObject(chart, object, { apiVersion: 'v1', kind, metadata: { name: id, namespace: 'default' } })
  }
}
app.synth()
`,
})

const namesIn = (type: typeof CONFIG_MAP) => async (b: SyncBench, cluster: string) =>
  (await b.client(cluster).list(type, { namespace: 'default' })).items
    .map((o) => o.metadata.name)
    .filter((name) => name !== 'kube-root-ca.crt')
const configs = namesIn(CONFIG_MAP)
const secrets = namesIn(SECRET)

const ended = (b: SyncBench, commit: string, track = 'fleet') =>
  eventually(
    async () => (await b.releases()).find((r) => r.spec.commit === commit && r.spec.track === track)?.status,
    (s) => s?.phase === 'Succeeded',
  )

async function started(declared: Declared, spec: Partial<FleetSourceInput['spec']> = {}): Promise<SyncBench> {
  const b = await syncBench(['test', 'prod'], { prune: { enabled: true, guard: 1 }, ...spec })
  bench = b
  const first = b.repository.commit(fleet(declared))
  await b.start()
  await ended(b, first)
  return b
}

const LEFT: readonly [string, Declared['test']][] = [
  ['whose chart is left empty', []],
  ['whose chart is removed', 'no chart'],
]
test.each(inFullAll(LEFT, 2))(
  'the last object of a cluster %s is deleted there, and the others keep theirs',
  async (_, rest) => {
    const b = await started({ test: ['ConfigMap:a'], prod: ['ConfigMap:a'] })
    expect(await configs(b, 'test')).toEqual(['a'])
    const second = b.repository.commit(fleet({ test: rest, prod: ['ConfigMap:a'] }))
    await ended(b, second)
    expect([await configs(b, 'test'), await configs(b, 'prod')]).toEqual([[], ['a']])

    // An empty cluster is no change, and it can have something again.
    b.repository.commit({ 'fleet/note.json': '{}' })
    const third = b.repository.commit(fleet({ test: ['ConfigMap:b'], prod: ['ConfigMap:a'] }))
    await ended(b, third)
    expect(await configs(b, 'test')).toEqual(['b'])
  },
  60_000,
)

test('a track that loses its last object in a cluster deletes it, whatever other tracks have there', async (context) => {
  onlyInFull(context)
  const pipelineRef = { name: 'standard' }
  const tracks = [
    { name: 'secrets', pipelineRef, match: { kinds: ['Secret'] } },
    { name: 'rest', pipelineRef },
  ]
  const b = await syncBench(['test', 'prod'], { tracks })
  bench = b
  const first = b.repository.commit(fleet({ test: ['Secret:a', 'ConfigMap:a'], prod: ['Secret:a'] }))
  await b.start()
  await ended(b, first, 'secrets')
  await ended(b, first, 'rest')
  const second = b.repository.commit(fleet({ test: ['ConfigMap:a'], prod: ['Secret:a'] }))
  await ended(b, second, 'secrets')
  expect([await secrets(b, 'test'), await configs(b, 'test'), await secrets(b, 'prod')]).toEqual([[], ['a'], ['a']])
  expect((await b.releases()).filter((r) => r.spec.commit === second).map((r) => r.spec.track)).toEqual(['secrets'])
})

test('the last objects of a cluster wait for a person when the guard allows fewer', async (context) => {
  onlyInFull(context)
  const b = await started({ test: ['ConfigMap:a', 'ConfigMap:b'], prod: ['ConfigMap:a'] })
  const second = b.repository.commit(fleet({ test: 'no chart', prod: ['ConfigMap:a'] }))
  const asking = await eventually(
    async () => (await b.releases()).find((r) => r.spec.commit === second),
    (r) => r?.status?.clusters?.some((c) => c.prune !== undefined) === true,
  )
  expect(asking?.status?.clusters?.[0]?.prune).toMatchObject({ count: 2, allowed: 1 })
  expect(await configs(b, 'test')).toEqual(['a', 'b'])
  const [request] = requestsOf(asking as Release)
  const wish = { reason: undefined, for: '1h' }
  const person = { name: 'ada', groups: [] }
  const wanted = approvalOf({ object: asking as Release, digest: request?.digest ?? '' }, person, wish, Date.now())
  await b.hub.client.create(approval, wanted)
  await ended(b, second)
  expect(await configs(b, 'test')).toEqual([])
})

test('a cluster that leaves the fleet keeps what it has', async () => {
  const b = await started({ test: ['ConfigMap:a'], prod: ['ConfigMap:a'] })
  const second = b.repository.commit(fleet({ prod: ['ConfigMap:a', 'ConfigMap:b'] }))
  await ended(b, second)
  expect([await configs(b, 'test'), await configs(b, 'prod')]).toEqual([['a'], ['a', 'b']])
})

const PIPELINE = { name: 'standard' }
const SECRETS = { name: 'secrets', pipelineRef: PIPELINE, match: { kinds: ['Secret'] } }
const CONFIGS = { name: 'configs', pipelineRef: PIPELINE, match: { kinds: ['ConfigMap'] } }
const HUB_ONLY = { name: 'hub', pipelineRef: PIPELINE, match: { kinds: ['Cluster', 'ReleasePipeline'] } }
const setTracks = (b: SyncBench, tracks: FleetSourceInput['spec']['tracks']) =>
  b.hub.client.patch(
    fleetSource,
    { name: 'fleet', namespace: SYSTEM_NAMESPACE },
    { type: 'merge', value: { spec: { tracks } } as never },
  )

async function twoTracks(guard: number): Promise<{ readonly b: SyncBench; readonly commit: string }> {
  const b = await syncBench(['test', 'prod'], {
    tracks: [SECRETS, CONFIGS, HUB_ONLY],
    prune: { enabled: true, guard },
  })
  bench = b
  const commit = b.repository.commit(
    fleet({ test: ['Secret:a', 'Secret:b', 'ConfigMap:a'], prod: ['Secret:a', 'ConfigMap:a'] }),
  )
  await b.start()
  await ended(b, commit, 'secrets')
  await ended(b, commit, 'configs')
  return { b, commit }
}

/** The second Release of the track: nothing of the commit changed, only the source. */
const deletion = (b: SyncBench, track: string, is: (r: Release | undefined) => boolean) =>
  eventually(
    async () =>
      (await b.releases())
        .filter((r) => r.spec.track === track)
        .toSorted(byPrevious)
        .at(-1),
    (r) => r?.spec.previous !== undefined && is(r),
  )
const byPrevious = (a: Release, b: Release): number =>
  Number(a.spec.previous !== undefined) - Number(b.spec.previous !== undefined)

test('the objects of a track that the source no longer has are deleted, and those of other tracks are not', async () => {
  const { b } = await twoTracks(10)
  await setTracks(b, [CONFIGS, HUB_ONLY])
  await deletion(b, 'secrets', (r) => r?.status?.phase === 'Succeeded')
  expect([await secrets(b, 'test'), await secrets(b, 'prod')]).toEqual([[], []])
  expect([await configs(b, 'test'), await configs(b, 'prod')]).toEqual([['a'], ['a']])

  // Back again, it declares them once more.
  await setTracks(b, [SECRETS, CONFIGS, HUB_ONLY])
  await eventually(
    () => secrets(b, 'prod'),
    (names) => names.length === 1,
  )
})

test('the objects of a track that the source no longer has wait for a person when the guard allows fewer', async (context) => {
  // The guard over the last objects of a cluster is the same; its test is above.
  onlyInFull(context)
  const { b } = await twoTracks(1)
  await setTracks(b, [CONFIGS, HUB_ONLY])
  const asking = await deletion(b, 'secrets', (r) => r?.status?.clusters?.some((c) => c.prune !== undefined) === true)
  expect(asking?.status?.clusters?.[0]?.prune).toMatchObject({ count: 2, allowed: 1 })
  expect([await secrets(b, 'test'), await secrets(b, 'prod')]).toEqual([['a', 'b'], ['a']])
})

test('objects that another track takes over are not deleted', async (context) => {
  onlyInFull(context)
  const { b } = await twoTracks(10)
  await setTracks(b, [CONFIGS, HUB_ONLY, { name: 'rest', pipelineRef: PIPELINE }])
  await eventually(
    async () => (await b.releases()).find((r) => r.spec.track === 'rest')?.status,
    (s) => s?.phase === 'Succeeded',
  )
  await deletion(b, 'secrets', (r) => r?.status?.phase === 'Succeeded')
  expect([await secrets(b, 'test'), await secrets(b, 'prod')]).toEqual([['a', 'b'], ['a']])
})
