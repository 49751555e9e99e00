// Custom gates of a pipeline on real servers: shut while a fact is unknown, failed by their timeout, open, shut again by a repair, and refused with an unknown name.
import { afterEach, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { storyLines } from '#explain/finding.ts'
import { releaseStory } from '#explain/release/status.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(() => bench?.close())

const MINUTE = 60_000
const fleet = (version: string, fact = 'readyShare') => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineComponentSet, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const rule = (path: string, operator: string, value: number) => ({ all: [{ fact: 'cluster', path, operator, value }] })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{
  name: 'test', clusters: { names: ['test'] }, minSuccessTime: '1h',
  before: [{ name: 'staffed', timeout: '30m', custom: { when: rule('/${fact}', 'greaterThanInclusive', 1), message: 'every machine is Ready' } }],
  gates: [{ name: 'calm', timeout: '10m', custom: { when: rule('/repairsLastDay', 'lessThan', 1) } }],
}] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
const chart = new ClusterChart(app, 'test')
new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { pool: 'w' } }, components: [{ name: 'beacon', version: '1.0.0' }] } })
new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '${version}' } })
app.synth()
`,
})

test('a rule over the cluster opens a stage, fails it, and shuts it again', async () => {
  bench = await syncBench(['test'])
  const b = bench
  const member = b.client('test')
  const cli = { fieldManager: 't', force: true } as const
  const version = async () =>
    ((await member.get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as { version?: string })
      ?.version
  const of = async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
  const statusOf = async (commit: string) => (await of(commit))?.status
  const waits = async (commit: string) => (await statusOf(commit))?.waitingFor

  const first = b.repository.commit(fleet('1'))
  await b.start()
  await eventually(
    () => waits(first),
    (w) => w?.seen === 'staffed: test: cluster/readyShare greaterThanInclusive 1: not there',
  )
  expect((await waits(first))?.unblock).toMatch(/^every machine is Ready; the stage fails at /)
  expect(await version()).toBeUndefined()
  b.pass(31 * MINUTE)
  const failed = await eventually(
    () => statusOf(first),
    (s) => s?.stages?.[0]?.phase === 'Failed',
  )
  expect(failed?.phase).toBe('Paused')
  expect(failed?.stages?.[0]?.gates).toMatchObject([
    { when: 'Before', name: 'staffed', phase: 'Failed', seen: expect.stringContaining('not there') },
  ])
  expect(await version()).toBeUndefined()

  // What would open it now does not open what has failed.
  await member.apply(machine, { ...machine.example, metadata: { name: 'm-1' }, spec: {} }, cli)
  const ready = { type: 'merge', value: { status: { phase: 'Ready' } } } as const
  await member.patch(machine, { name: 'm-1' }, ready, { subresource: 'status' })
  b.pass(MINUTE)
  await eventually(
    () => b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }),
    (s) => s?.status?.rendered === first,
  )
  expect((await statusOf(first))?.stages?.[0]?.phase).toBe('Failed')

  const second = b.repository.commit(fleet('2'))
  await eventually(version, (v) => v === '2')
  const { metadata } =
    (await eventually(
      () => member.get(machineComponentSet, { name: 'base' }),
      (s) => s !== undefined,
    )) ?? {}
  const durations = [{ component: 'beacon', seconds: [50, 60, 70] }]
  const complete = { observedGeneration: metadata?.generation ?? 1, phase: 'Complete', durations }
  const value = { status: complete }
  await member.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value }, { subresource: 'status' })
  const healthy = await eventually(
    () => statusOf(second),
    (s) => s?.stages?.[0]?.phase === 'Soaking',
  )
  expect(healthy?.stages?.[0]?.gates).toMatchObject([
    { when: 'Before', name: 'staffed', phase: 'Passed', seen: 'test: the rule is true' },
    { when: 'During', name: 'calm', phase: 'Passed', seen: 'test: the rule is true' },
  ])
  expect(healthy?.record).toMatchObject([
    { cluster: 'test', switches: [{ set: 'base', component: 'beacon', count: 3, p50: 60, p90: 70 }] },
  ])

  const job = { ...remedyOperationJob.example, metadata: { name: 'repair-1' } }
  await member.apply(remedyOperationJob, job, cli)
  await eventually(
    () => waits(second),
    (w) => w?.seen === 'test: calm: cluster/repairsLastDay lessThan 1: observed 1',
  )
  b.pass(11 * MINUTE)
  const shut = await eventually(
    () => statusOf(second),
    (s) => s?.stages?.[0]?.phase === 'Failed',
  )
  expect(shut?.record).toMatchObject([
    {
      phase: 'Failed',
      gates: [
        { name: 'staffed', when: 'Before', kind: 'custom', result: 'Passed' },
        { name: 'calm', kind: 'custom', result: 'Waiting', evidence: expect.stringContaining('observed 1') },
      ],
    },
  ])
  expect(storyLines(releaseStory((await of(second)) as never, { now: Date.now() })).join('\n')).toContain(
    'gate staffed (before): Passed, test: the rule is true',
  )

  // A name that no fact has: the pipeline stays as it was, and the source says why.
  b.repository.commit(fleet('3', 'redyShare'))
  const refused = await eventually(
    async () =>
      (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
        (c) => c.type === 'Rendered',
      ),
    (c) => c?.status === 'False',
  )
  expect(refused?.message).toContain('redyShare')
  const kept = await b.hub.client.get(releasePipeline, { namespace: SYSTEM_NAMESPACE, name: 'standard' })
  expect(JSON.stringify(kept?.spec)).toContain('/readyShare')
  expect(await version()).toBe('2')
})
