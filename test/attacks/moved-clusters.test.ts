// A commit author wants content in a guarded cluster without its approvals: the commit moves the Cluster into a stage without gates.
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(() => bench?.close())

const BOARD = `{ before: [{ name: 'board', approval: { from: ['ada'] } }] }`

const fleet = (version: string, stage: string, label = '', guarded = BOARD) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const of = (name: string, more: object) => ({ name, clusters: { selector: { matchLabels: { '${LABELS.stage}': name } } }, minSuccessTime: '0s', ...more })
new ReleasePipeline(hub, 'standard', { spec: { stages: [of('free', {}), of('guarded', ${guarded})] } })
new Cluster(hub, 'test', { metadata: { labels: ${JSON.stringify(label === '' ? {} : { [LABELS.stage]: label })} }, spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: '${stage}' } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
app.synth()
`,
})

async function world() {
  bench = await syncBench(['test'])
  const b = bench
  return {
    b,
    version: async () =>
      (
        (await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as
          | { readonly version?: string }
          | undefined
      )?.version,
    stageOf: async () => (await b.hub.client.get(cluster, { namespace: SYSTEM_NAMESPACE, name: 'test' }))?.spec.stage,
    of: async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)?.status,
  }
}

test('a cluster that its own commit moves keeps the stage from before until that stage has approved the move', async () => {
  const { b, version, stageOf, of } = await world()
  const waitsForBoard = (commit: string) =>
    eventually(
      () => of(commit),
      (s) => s?.waitingFor?.seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
      30_000,
    )

  // In no stage before: the commit that gives it one brings it there.
  b.repository.commit(fleet('0', 'nowhere'))
  const stop = await b.start()
  await eventually(stageOf, (s) => s === 'nowhere')
  b.repository.commit(fleet('1', 'free'))
  await eventually(version, (v) => v === '1')
  b.repository.commit(fleet('1', 'guarded'))
  await eventually(stageOf, (s) => s === 'guarded')

  const byField = b.repository.commit(fleet('2', 'free'))
  await waitsForBoard(byField)
  expect(await stageOf()).toBe('guarded')
  // Also after a restart of sync.
  await stop()
  await b.start()
  b.pass(60_000)
  await waitsForBoard(byField)
  b.repository.commit(fleet('1', 'guarded'))
  // A label decides before the field.
  const byLabel = b.repository.commit(fleet('3', 'guarded', 'free'))
  await waitsForBoard(byLabel)
  // The move was never approved, so it is not in force for the commit after it either.
  const afterIt = b.repository.commit(fleet('4', 'guarded', 'free'))
  await waitsForBoard(afterIt)
  expect([await version(), await stageOf()]).toEqual(['1', 'guarded'])
})

test('a cluster leaves its stage with an approval only, and nothing changes there until a commit gives it a stage', async () => {
  const { b, version, stageOf, of } = await world()
  b.repository.commit(fleet('1', 'guarded', '', '{}'))
  await b.start()
  await eventually(version, (v) => v === '1')

  const leaving = b.repository.commit(fleet('1', 'nowhere', '', '{}'))
  await eventually(
    () => of(leaving),
    (s) => s?.waitingFor?.seen?.startsWith('high-risk: cluster test out of all stages: approved by 0 of 1') === true,
  )
  // A commit on top of it is asked the same.
  const onTop = b.repository.commit(fleet('2', 'nowhere', '', '{}'))
  await eventually(
    () => of(onTop),
    (s) => s?.waitingFor?.seen?.startsWith('high-risk: cluster test out of all stages: approved by 0 of 1') === true,
  )
  expect([await version(), await stageOf()]).toEqual(['1', 'guarded'])
  const object = (await b.releases()).find((r) => r.spec.commit === onTop)
  if (object === undefined) throw new Error('no release')
  // An Approval counts from the second after the one in which other content was replaced.
  const replaced = Date.parse(object.metadata.creationTimestamp ?? '')
  await eventually(
    () => Promise.resolve(Date.now() - replaced),
    (ms) => ms > 1_000,
  )
  const [request] = requestsOf(object)
  const wish = { reason: 'read', for: '1h' }
  await b.hub.client.create(
    approval,
    approvalOf({ object, digest: request?.digest ?? '' }, { name: 'ada', groups: [] }, wish, Date.now()),
  )
  await eventually(version, (v) => v === '2', 20_000)
  expect(await stageOf()).toBe('nowhere')

  const free = b.repository.commit(fleet('3', 'elsewhere', '', '{}'))
  await eventually(
    () => of(free),
    (s) => s?.clusters?.[0]?.waitingFor?.seen === 'no stage of the pipeline has this cluster',
  )
  b.pass(61_000)
  expect([await version(), await stageOf()]).toEqual(['2', 'nowhere'])
  b.repository.commit(fleet('3', 'guarded', '', '{}'))
  await eventually(version, (v) => v === '3')
  expect(await stageOf()).toBe('guarded')
})
