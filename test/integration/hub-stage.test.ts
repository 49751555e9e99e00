// A stage of the hub: what a commit declares there, its own pipeline included, waits for the gates from before the commit.
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { createdMs } from '#api/schema/object-meta.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

let bench: SyncBench | undefined
afterEach(() => bench?.close())

const fleet = (stages: string, note: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: ${stages} } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
new ApiObject(hub, 'note', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note', namespace: 'default' }, data: { note: '${note}' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { note: '${note}' } })
app.synth()
`,
})
const TEST = `{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }`
const gated = (person: string) =>
  `[{ name: 'hub', clusters: { hub: true }, minSuccessTime: '0s', before: [{ name: 'board', approval: { from: ['${person}'] } }] }, ${TEST}]`

async function world() {
  bench = await syncBench(['test'])
  const b = bench
  const noteOf = async (client: SyncBench['hub']['client'], name: string) =>
    ((await client.get(CONFIG_MAP, { namespace: 'default', name }))?.['data'] as { note?: string } | undefined)?.note
  const releaseOf = async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
  return {
    b,
    onHub: () => noteOf(b.hub.client, 'note'),
    onMember: () => noteOf(b.client('test'), 'settings'),
    releaseOf,
    waits: async (commit: string) => (await releaseOf(commit))?.status?.waitingFor?.seen,
    stages: async () =>
      (await b.hub.client.get(releasePipeline, { namespace: SYSTEM_NAMESPACE, name: 'standard' }))?.spec.stages,
    condition: async (type: string) =>
      (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
        (c) => c.type === type,
      ),
    approve: async (commit: string, name: string) => {
      const object = await releaseOf(commit)
      if (object === undefined) throw new Error('no release')
      const [request] = requestsOf(object)
      // An Approval made in the second in which a Release replaced other content counts for neither.
      const newest = Math.max(...(await b.releases()).map(createdMs))
      await eventually(
        () => Promise.resolve(Date.now()),
        (now) => now >= newest + 1_000,
      )
      const wish = { reason: 'read', for: '1h' }
      const made = approvalOf({ object, digest: request?.digest ?? '' }, { name, groups: [] }, wish, Date.now())
      await b.hub.client.create(approval, made)
    },
  }
}

test('what a commit declares for the hub waits for its stage, and a commit cannot drop that', async () => {
  const { b, onHub, onMember, releaseOf, waits, stages, approve, condition } = await world()
  // The stage itself comes with a commit that is applied at once, since there was none before.
  b.repository.commit(fleet(gated('ada'), '1'))
  await b.start()
  await eventually(onMember, (v) => v === '1')
  expect(await onHub()).toBe('1')

  const sly = b.repository.commit(fleet(`[${TEST}]`, '2'))
  await eventually(
    () => waits(sly),
    (seen) => seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
  )
  expect((await releaseOf(sly))?.spec.digests).toHaveProperty('hub')
  const name = (await releaseOf(sly))?.metadata.name ?? ''
  await eventually(
    () => condition('Applied'),
    (c) =>
      c?.status === 'False' &&
      c.message.startsWith(`the hub waits for release/${name}: board: approved by 0 of 1 (ada)`),
  )
  expect(await condition('Ready')).toMatchObject({ status: 'True' })
  // Also after a restart of sync.
  await b.start()
  b.pass(61_000)
  await eventually(
    () => waits(sly),
    (seen) => seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
  )
  expect([await onHub(), await onMember(), (await stages())?.length]).toEqual(['1', '1', 2])

  // A later commit is not held to what the sly one wanted and never got, and does not pass by it either.
  const next = b.repository.commit(fleet(gated('ada'), '3'))
  await eventually(
    () => waits(next),
    (seen) => seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
  )
  expect([await onHub(), await onMember()]).toEqual(['1', '1'])

  await approve(next, 'ada')
  await eventually(onMember, (v) => v === '3')
  expect(await onHub()).toBe('3')
  await eventually(
    () => releaseOf(next),
    (r) => r?.status?.phase === 'Succeeded',
  )
  await eventually(
    () => condition('Applied'),
    (c) => c?.status === 'True',
  )
  const record = (await releaseOf(next))?.status?.record ?? []
  expect(record).toMatchObject([
    {
      commit: next,
      cluster: 'hub',
      stage: 'hub',
      phase: 'Healthy',
      gates: [
        { name: 'board', when: 'Before', kind: 'approval', result: 'Passed', evidence: 'approved by 1 of 1 (ada)' },
      ],
      approvedBy: ['ada'],
    },
    { cluster: 'test', stage: 'test', phase: 'Healthy' },
  ])
  expect(record.every((r) => r.finishedAt !== undefined)).toBe(true)
})

test('a commit that removes the stage removes it for the commits after it', async (context) => {
  onlyInFull(context)
  const { b, onHub, onMember, releaseOf, waits, stages, approve } = await world()
  b.repository.commit(fleet(gated('ada'), '1'))
  await b.start()
  await eventually(onMember, (v) => v === '1')

  const open = b.repository.commit(fleet(`[${TEST}]`, '2'))
  await eventually(
    () => waits(open),
    (seen) => seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
  )
  await approve(open, 'ada')
  await eventually(onMember, (v) => v === '2')
  await eventually(
    () => releaseOf(open),
    (r) => r?.status?.phase === 'Succeeded',
  )
  expect((await stages())?.map((s) => s.name)).toEqual(['test'])

  b.repository.commit(fleet(`[${TEST}]`, '3'))
  await eventually(onMember, (v) => v === '3')
  expect(await onHub()).toBe('3')
})
