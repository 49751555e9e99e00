// Gates of a pipeline on real servers: a request before the first stage, readings and a group between the stages, and what people see of them.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { whyLines } from '#explain/why.ts'
import { storyLines } from '#explain/finding.ts'
import { releaseStory } from '#explain/release/status.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
let page: Server | undefined
afterEach(async () => {
  await bench?.close()
  page?.close()
  page?.closeAllConnections()
})

const fleet = (url: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = (name: string, more: object) => ({ name, clusters: { names: [name] }, minSuccessTime: '0s', ...more })
new ReleasePipeline(hub, 'standard', { spec: { stages: [
  stage('test', { before: [{ name: 'page', http: { url: '${url}/deploy' } }] }),
  stage('prod', { before: [
    { name: 'board', approval: { from: ['group:release'], count: 2 } },
    { name: 'declared', componentsConsistent: { minPercent: 100 } },
  ] }),
] } })
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  const chart = new ClusterChart(app, name)
  new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version: '1' } })
}
app.synth()
`,
})

test('a stage opens when its gates do; until then nothing is applied, and the release says what it waits for', async () => {
  let status = 503
  page = createServer((_, r) => void r.writeHead(status).end())
  await new Promise<void>((done) => page?.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
  bench = await syncBench(['test', 'prod'], {}, { checks: { allow: [origin] } })
  const b = bench
  const has = async (cluster: string) =>
    (await b.client(cluster).get(CONFIG_MAP, { namespace: 'default', name: 'settings' })) !== undefined
  const newest = async (): Promise<Release | undefined> => (await b.releases())[0]
  const waits = async () => (await newest())?.status?.waitingFor?.seen ?? ''

  // A machine in prod that its set has not ordered the declared version.
  const base = machineComponentSet.example
  await b.client('prod').apply(
    machineComponentSet,
    {
      ...base,
      spec: {
        ...base.spec,
        selector: { matchLabels: { pool: 'w' } },
        components: [{ name: 'kubelet', version: '2.0.0' }],
      },
    },
    { fieldManager: 't', force: true },
  )
  const aMachine = (labels: object) =>
    b
      .client('prod')
      .apply(machine, { ...machine.example, metadata: { name: 'm1', labels }, spec: { components: [] } } as never, {
        fieldManager: 't',
        force: true,
      })
  await aMachine({ pool: 'w' })

  b.repository.commit(fleet(origin))
  await b.start()
  await eventually(waits, (seen) => seen.includes('answers 503, 200 is expected'))
  expect([await has('test'), await has('prod')]).toEqual([false, false])
  expect(whyLines((await newest()) as Release, Date.now()).join('\n')).toMatch(
    /GateClosed\n.*page: .* answers 503, 200 is expected\n.*answers 200; the stage fails on/,
  )

  status = 200
  b.pass(11_000)
  await eventually(() => has('test'), Boolean)
  await eventually(waits, (seen) => seen.startsWith('board: approved by 0 of 2 (group release); the stage fails at '))

  const asking = (await newest()) as Release
  const [request] = requestsOf(asking)
  for (const [name, groups] of [
    ['ada', ['release']],
    ['bob', ['other']],
  ] as const) {
    const made = approvalOf(
      { object: asking, digest: request?.digest ?? '' },
      { name, groups },
      { reason: 'seen', for: '1h' },
      Date.now(),
    )
    await b.hub.client.create(approval, made)
  }
  await eventually(waits, (seen) => seen.startsWith('board: approved by 1 of 2 (group release); the stage fails at '))
  const cleo = { name: 'cleo', groups: ['release'] }
  const wish = { reason: 'seen', for: '1h' }
  await b.hub.client.create(
    approval,
    approvalOf({ object: asking, digest: request?.digest ?? '' }, cleo, wish, Date.now()),
  )
  await eventually(waits, (seen) => seen.startsWith('declared: prod: 0 of 1 machines are consistent'))
  expect(await has('prod')).toBe(false)

  await aMachine({ pool: 'other' })
  b.pass(11_000)
  await eventually(newest, (r) => r?.status?.phase === 'Succeeded')
  expect(await has('prod')).toBe(true)
  const lines = storyLines(releaseStory((await newest()) as Release, { now: Date.now() }))
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^ {2}gate page \(before\): Passed, 127\.0\.0\.1:\d+ answers 200/),
      '  gate board (before): Passed, approved by 2 of 2 (group release)',
      '  gate declared (before): Passed, prod: 1 of 1 machines are consistent, 100% are needed',
    ]),
  )
})

/** A pipeline whose second stage waits for a person, or not. */
const guarded = (before: string) => ({
  'fleet/pipeline.ts': `export const before: object = ${before}\n`,
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'
import { version } from './version.ts'
import { before } from './pipeline.ts'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [
  { name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s', ...before },
] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' } } })
const chart = new ClusterChart(app, 'test')
new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { version } })
app.synth()
`,
})
const versionFile = (version: string) => ({ 'fleet/version.ts': `export const version: string = '${version}'\n` })

test.each([
  ['by leaving them out', '{}'],
  ['by an empty list', '{ before: [] }'],
  ['by empty lists of everything', '{ before: [], gates: [], after: [], windows: [] }'],
])('a commit cannot drop the gates that it has to pass %s, and another commit can', async (_, open) => {
  bench = await syncBench(['test'])
  const b = bench
  const version = async () =>
    (
      (await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as
        | { readonly version?: string }
        | undefined
    )?.version
  const of = async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)?.status
  const gated = `{ before: [{ name: 'board', approval: { from: ['ada'] } }] }`

  b.repository.commit({ ...guarded('{}'), ...versionFile('1') })
  await b.start()
  await eventually(version, (v) => v === '1')
  b.repository.commit(guarded(gated))
  const pipeline = { namespace: SYSTEM_NAMESPACE, name: 'standard' }
  const stored = async () => (await b.hub.client.get(releasePipeline, pipeline))?.spec.stages[0]?.before
  await eventually(stored, (gates) => gates?.length === 1)

  // A field that git does not declare stays as a user set it.
  await b.hub.client.patch(releasePipeline, pipeline, { type: 'merge', value: { spec: { keep: 7 } } })
  const sly = b.repository.commit({ ...guarded(open), ...versionFile('2') })
  await eventually(stored, (gates) => gates === undefined || gates.length === 0)
  await eventually(
    () => of(sly),
    (s) => s?.waitingFor?.seen?.startsWith('board: approved by 0 of 1 (ada)') === true,
  )
  // It waits on, also after a restart of sync.
  await b.start()
  b.pass(60_000)
  expect([await version(), (await of(sly))?.clusters?.map((c) => c.phase)]).toEqual(['1', ['Waiting']])

  // What another commit says of the pipeline counts: here a person who is there.
  b.repository.commit(guarded(`{ before: [{ name: 'board', approval: { from: ['bob'] } }] }`))
  await eventually(
    () => of(sly),
    (s) => s?.waitingFor?.seen?.startsWith('board: approved by 0 of 1 (bob)') === true,
  )
  expect(await version()).toBe('1')
})
