// A cluster that the newest release has not reached is only kept at what it has: a later commit may declare there what an earlier one dropped, or bring an
// object by another track, and neither is undone.
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const MINUTE_MS = 60_000
const SOAK_MS = 6 * 60 * MINUTE_MS
const TRACKS = [
  { name: 'fast', match: { selector: { matchLabels: { fast: 'yes' } } }, pipelineRef: { name: 'quick' } },
  { name: 'fleet', pipelineRef: { name: 'standard' } },
]

/** One stage for each of two clusters; a long soak for all but what is labeled as fast. */
const fleet = (objects: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stages = (soak: string) =>
  ['test', 'prod'].map((name) => ({ name, clusters: { names: [name] }, minSuccessTime: name === 'test' ? soak : '0s', progressDeadline: '10m', offlineDeadline: '1h' }))
new ReleasePipeline(hub, 'standard', { spec: { stages: stages('6h') } })
new ReleasePipeline(hub, 'quick', { spec: { stages: stages('0s') } })
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  const chart = new ClusterChart(app, name)
  const config = (id: string, version: string, labels: Record<string, string> = {}) =>
    new ApiObject(chart, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id, namespace: 'default', labels }, data: { version } })
  ${objects}
}
app.synth()
`,
})

async function versionIn(b: SyncBench, cluster: string, name: string): Promise<unknown> {
  return (await b.client(cluster).get(CONFIG_MAP, { namespace: 'default', name }))?.['data']?.['version']
}

const edit = (b: SyncBench, name: string) =>
  b
    .client('prod')
    .patch(CONFIG_MAP, { namespace: 'default', name }, { type: 'merge', value: { data: { version: 'edited' } } })

const statusOf = async (b: SyncBench, commit: string, track = 'fleet') =>
  (await b.releases()).find((r) => r.spec.commit === commit && r.spec.track === track)?.status

async function released(b: SyncBench, objects: string): Promise<void> {
  const commit = b.repository.commit(fleet(objects))
  await eventually(
    () => statusOf(b, commit),
    (s) => s?.clusters?.[0]?.healthySince !== undefined,
  )
  b.pass(SOAK_MS + 2_000)
  await eventually(
    () => statusOf(b, commit),
    (s) => s?.phase === 'Succeeded',
  )
}

test('what an earlier commit dropped and the newest declares again is not deleted before its turn', async () => {
  bench = await syncBench(['test', 'prod'], { prune: { enabled: false } })
  const b = bench
  await b.start()
  await released(b, `config('settings', '1'); config('precious', '1')`)
  await released(b, `config('settings', '2')`)
  b.repository.commit(fleet(`config('settings', '3'); config('precious', '1')`))
  await eventually(
    () => versionIn(b, 'test', 'settings'),
    (v) => v === '3',
  )
  const prune = { spec: { prune: { enabled: true } } }
  const source = { namespace: SYSTEM_NAMESPACE, name: 'fleet' }
  await b.hub.client.patch(fleetSource, source, { type: 'merge', value: prune })
  await edit(b, 'settings')
  // Reverted: the cluster was compared after the change.
  await whileTimePasses(
    b,
    2 * MINUTE_MS,
    () => versionIn(b, 'prod', 'settings'),
    (v) => v === '2',
  )
  expect(await versionIn(b, 'prod', 'precious')).toBe('1')
})

test('what the newest commit brought by another track stays', async () => {
  bench = await syncBench(['test', 'prod'], { tracks: TRACKS })
  const b = bench
  const fast = `config('f', '1', { fast: 'yes' })`
  await b.start()
  await released(b, `config('settings', '1'); config('other', '1'); ${fast}`)
  const moved = b.repository.commit(fleet(`config('settings', '2', { fast: 'yes' }); config('other', '2'); ${fast}`))
  await eventually(
    () => statusOf(b, moved, 'fast'),
    (s) => s?.phase === 'Succeeded',
  )
  for (let round = 0; round < 2; round++) {
    await edit(b, 'other')
    await whileTimePasses(
      b,
      2 * MINUTE_MS,
      () => versionIn(b, 'prod', 'other'),
      (v) => v === '1',
    )
    expect(await versionIn(b, 'prod', 'settings')).toBe('2')
  }
})

test('what a later commit deleted by another track does not come back, and is recorded nowhere in the end', async () => {
  bench = await syncBench(['test', 'prod'], { tracks: TRACKS })
  const b = bench
  const fast = `config('f', '1', { fast: 'yes' })`
  await b.start()
  await released(b, `config('unwanted', '1'); config('other', '1'); ${fast}`)
  const moved = b.repository.commit(fleet(`config('unwanted', '1', { fast: 'yes' }); config('other', '1'); ${fast}`))
  await eventually(
    () => statusOf(b, moved, 'fast'),
    (s) => s?.phase === 'Succeeded',
  )
  const last = b.repository.commit(fleet(`config('other', '2'); ${fast}`))
  await eventually(
    () => statusOf(b, last, 'fast'),
    (s) => s?.phase === 'Succeeded',
  )
  await eventually(
    () => versionIn(b, 'test', 'other'),
    (v) => v === '2',
  )
  await edit(b, 'other')
  await whileTimePasses(
    b,
    2 * MINUTE_MS,
    () => versionIn(b, 'prod', 'other'),
    (v) => v === '1',
  )
  expect(await versionIn(b, 'prod', 'unwanted')).toBeUndefined()
  b.pass(SOAK_MS)
  await eventually(
    () => statusOf(b, last),
    (s) => s?.phase === 'Succeeded',
  )
  const recorded = async () =>
    (await b.client('prod').list(inventory)).items.flatMap(({ spec }) => spec.refs.map((ref) => ref.name)).toSorted()
  await whileTimePasses(b, 2 * MINUTE_MS, recorded, (names) => names.join(' ') === 'f other')
})

test('what a later commit changed by another track is not put back once it belongs to the first track again', async () => {
  bench = await syncBench(['test', 'prod'], { tracks: TRACKS })
  const b = bench
  const fast = `config('f', '1', { fast: 'yes' })`
  await b.start()
  await released(b, `config('settings', '1'); config('other', '1'); ${fast}`)
  const moved = b.repository.commit(fleet(`config('settings', '2', { fast: 'yes' }); config('other', '1'); ${fast}`))
  await eventually(
    () => statusOf(b, moved, 'fast'),
    (s) => s?.phase === 'Succeeded',
  )
  const back = b.repository.commit(fleet(`config('settings', '3'); config('other', '2'); ${fast}`))
  await eventually(
    () => statusOf(b, back, 'fast'),
    (s) => s?.phase === 'Succeeded',
  )
  await eventually(
    () => versionIn(b, 'test', 'settings'),
    (v) => v === '3',
  )
  await edit(b, 'other')
  await whileTimePasses(
    b,
    2 * MINUTE_MS,
    () => versionIn(b, 'prod', 'other'),
    (v) => v === '1',
  )
  expect(await versionIn(b, 'prod', 'settings')).toBe('2')
})
