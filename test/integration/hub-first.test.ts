// Without a stage for it in the pipeline, the hub has a stage of its own before all others: a commit reaches no cluster before the hub has all of it, every commit
// that changes the hub has a record, and neither a commit for the hub alone nor one that the hub refuses disturbs a release that is under way.
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(() => bench?.close())

interface Fleet {
  readonly onHub: string
  readonly onMembers: string
  /** No server has a namespace with this name. */
  readonly isRefused?: boolean
}

const fleet = ({ onHub, onMembers, isRefused = false }: Fleet) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = (name: string) => ({ name, clusters: { names: [name] }, minSuccessTime: name === 'test' ? '1h' : '0s' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test'), stage('prod')] } })
const note = (scope: any, id: string, namespace: string, text: string) =>
  new ApiObject(scope, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id, namespace }, data: { note: text } })
note(hub, 'note', 'default', '${onHub}')
if (${isRefused}) note(hub, 'refused', 'nowhere', 'x')
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: 'cluster-' + name, key: 'kubeconfig' } } })
  note(new ClusterChart(app, name), 'note', 'default', '${onMembers}')
}
app.synth()
`,
})

async function world() {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const noteOf = async (client: SyncBench['hub']['client']) =>
    ((await client.get(CONFIG_MAP, { namespace: 'default', name: 'note' }))?.['data'] as { note?: string } | undefined)
      ?.note
  const status = async () =>
    (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status
  return {
    b,
    onHub: () => noteOf(b.hub.client),
    on: (cluster: 'test' | 'prod') => () => noteOf(b.client(cluster)),
    records: async () => (await status())?.hub ?? [],
    condition: async (type: string) => (await status())?.conditions?.find((c) => c.type === type),
    stage: async (release: string, name: string) =>
      (await b.releases()).find((r) => r.metadata.name === release)?.status?.stages?.find((s) => s.name === name),
  }
}

test('a commit for the hub alone has a record and leaves the soak of a release alone; one that the hub refuses reaches no cluster', async () => {
  const { b, onHub, on, records, condition, stage } = await world()
  const first = b.repository.commit(fleet({ onHub: '1', onMembers: '1' }))
  await b.start()
  await eventually(on('test'), (v) => v === '1')
  const [release] = await b.releases()
  const name = release?.metadata.name ?? ''
  const soaking = await eventually(
    () => stage(name, 'test'),
    (s) => s?.phase === 'Soaking',
  )
  expect(await records()).toMatchObject([{ commit: first, track: 'fleet', phase: 'Succeeded', deleted: 0 }])

  const second = b.repository.commit(fleet({ onHub: '2', onMembers: '1' }))
  await eventually(onHub, (v) => v === '2')
  await eventually(records, (all) => all[0]?.commit === second && all[0].phase === 'Succeeded')
  expect((await records())[0]).toMatchObject({ applied: 1, deleted: 0 })
  expect((await b.releases()).map((r) => r.metadata.name)).toEqual([name])
  expect((await stage(name, 'test'))?.soakUntil).toBe(soaking?.soakUntil)

  // Refused on the hub: what else it declares there is applied, no cluster gets anything of it, and the release before continues.
  const bad = b.repository.commit(fleet({ onHub: '3', onMembers: '3', isRefused: true }))
  await eventually(
    () => condition('Applied'),
    (c) => c?.status === 'False' && c.reason === 'ApplyFailed' && c.message.includes('nowhere'),
  )
  expect(await condition('Ready')).toMatchObject({ status: 'False' })
  const [open] = await records()
  expect(open).toMatchObject({ commit: bad, phase: 'Failed' })
  expect(open?.message).toContain('nowhere')
  expect([await onHub(), await on('test')()]).toEqual(['3', '1'])
  await b.start()
  b.pass(3_600_000)
  await eventually(on('prod'), (v) => v === '1')
  await eventually(
    () => stage(name, 'prod'),
    (s) => s?.phase === 'Succeeded',
  )
  expect((await b.releases()).map((r) => r.metadata.name)).toEqual([name])

  // The commit that mends it passes, and goes back to the last one that the hub had completely.
  const mended = b.repository.commit(fleet({ onHub: '3', onMembers: '3' }))
  await eventually(on('test'), (v) => v === '3')
  expect(await records()).toMatchObject([
    { commit: mended, phase: 'Succeeded' },
    { commit: bad, phase: 'Failed', supersededBy: mended },
    { commit: second, phase: 'Succeeded' },
    { commit: first, phase: 'Succeeded' },
  ])
  expect((await b.releases()).find((r) => r.spec.commit === mended)?.spec.after).toBe(second)
  await eventually(
    () => condition('Ready'),
    (c) => c?.status === 'True',
  )
})

test('a revert to what was healthy in every cluster waits for nothing on the hub', async () => {
  const { b, on, records } = await world()
  b.repository.commit(fleet({ onHub: '1', onMembers: '1' }))
  await b.start()
  await eventually(b.releases, ([r]) => r?.status?.stages?.[0]?.phase === 'Soaking')
  b.pass(3_600_000)
  await eventually(on('prod'), (v) => v === '1')
  await eventually(b.releases, ([r]) => r?.status?.phase === 'Succeeded')
  const worse = b.repository.commit(fleet({ onHub: '1', onMembers: '2' }))
  await eventually(on('test'), (v) => v === '2')

  const back = `back to what was there\n\nThis reverts commit ${worse}.`
  const revert = b.repository.commit(fleet({ onHub: '1', onMembers: '1', isRefused: true }), back)
  await eventually(on('test'), (v) => v === '1')
  expect((await records())[0]).toMatchObject({ commit: revert, phase: 'Failed' })
})
