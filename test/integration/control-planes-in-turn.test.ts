// The version of a control plane goes through the pipeline as what is on nodes does: stage by stage, watched, held by an approval, stopped by what fails, and back by a revert.
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { machine } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { isNotFound } from '#kube/errors.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const SERVED = ['1.35', '1.36']
const clusterOf = (name: string, version: string) => `
new Cluster(hub, '${name}', { spec: { stage: '${name}', version: '${version}', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' } })
new ApiObject(new ClusterChart(app, '${name}'), 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { for: '${version}' } })`

const stagesWith = (prod: string) => `[
  { name: 'test', clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'test' } } }, minSuccessTime: '0s', withoutApproval: ['Versions'] },
  { name: 'prod', clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'prod' } } }, minSuccessTime: '0s', ${prod} },
]`
const STAGES = stagesWith(`before: [{ name: 'board', approval: { from: ['ada'] } }]`)

const fleet = (version: string, stages = STAGES, names: readonly string[] = ['test', 'prod']) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: ${stages} } })
${names.map((name) => clusterOf(name, version)).join('')}
new ApiObject(hub, 'note', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note' }, data: { for: 'hub' } })
app.synth()
`,
})

/** In place of the role cluster: a control plane has its version a while after it was asked for, if it is served. */
function planesOf({ hub: { client } }: SyncBench, isSlow: () => boolean = () => false) {
  const stop = new AbortController()
  const statusFor = ({ metadata, spec, status }: Cluster): object => {
    const version = spec.version ?? ''
    const running = status?.versions?.[0]?.version ?? version
    const observed = { observedGeneration: metadata.generation ?? 1 }
    const of = (v: string) => [{ part: 'apiserver', version: v }]
    if (!SERVED.some((minor) => version.startsWith(`${minor}.`)))
      return {
        ...observed,
        phase: 'Ready',
        versions: of(running),
        waitingFor: {
          predicate: 'VersionNotServed',
          seen: `version ${version}; the host serves ${SERVED.join(', ')}`,
          unblock: 'a commit names a version of 1.34, 1.35 or 1.36',
          since: '2026-01-01T00:00:00Z',
        },
      }
    return isSlow() && running !== version
      ? { ...observed, phase: 'Upgrading', versions: of(running) }
      : { ...observed, phase: 'Ready', versions: of(version) }
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      for (const each of (await client.list(cluster, { namespace: SYSTEM_NAMESPACE })).items) {
        const { name = '' } = each.metadata
        const body = { apiVersion: each.apiVersion, kind: each.kind, metadata: { name, namespace: SYSTEM_NAMESPACE } }
        // It may be deleted in between.
        await client
          .apply(
            cluster,
            { ...body, status: statusFor(each) },
            { fieldManager: 'planes', force: true, subresource: 'status' },
          )
          .catch((error: unknown) => {
            if (!isNotFound(error)) throw error
          })
      }
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
  const running = run()
  stops.unshift(async () => {
    stop.abort()
    await running
  })
}

async function world(isSlow?: () => boolean) {
  const b = await syncBench(['test', 'prod'])
  stops.push(() => b.close())
  planesOf(b, isSlow)
  const planeOf = (name: string) => b.hub.client.get(cluster, { namespace: SYSTEM_NAMESPACE, name })
  const releaseOf = async (commit: string) => (await b.releases()).find((r) => r.spec.commit === commit)
  return {
    b,
    planeOf,
    releaseOf,
    versions: async () => [(await planeOf('test'))?.spec.version, (await planeOf('prod'))?.spec.version],
    settings: async (name: string) =>
      (
        (await b.client(name).get(CONFIG_MAP, { namespace: 'default', name: 'settings' }))?.['data'] as
          | { for?: string }
          | undefined
      )?.for,
    phases: async (commit: string) =>
      Object.fromEntries((await releaseOf(commit))?.status?.clusters?.map((c) => [c.name, c.phase]) ?? []),
    waits: async (commit: string) => (await releaseOf(commit))?.status?.waitingFor?.seen,
    approve: async (commit: string) => {
      const object = await releaseOf(commit)
      if (object === undefined) throw new Error('no release')
      const [request] = requestsOf(object)
      const wish = { reason: 'read', for: '1h' }
      const made = approvalOf({ object, digest: request?.digest ?? '' }, { name: 'ada', groups: [] }, wish, Date.now())
      await b.hub.client.create(approval, made)
    },
  }
}

type World = Awaited<ReturnType<typeof world>>

async function started({ b, settings, waits, approve, phases }: World): Promise<string> {
  const first = b.repository.commit(fleet('1.35.1'))
  await b.start()
  await eventually(
    () => settings('test'),
    (v) => v === '1.35.1',
  )
  await eventually(
    () => waits(first),
    (seen) => seen?.startsWith('board: approved by 0 of 1') === true,
  )
  await approve(first)
  await eventually(
    () => phases(first),
    (p) => p['prod'] === 'Healthy',
  )
  return first
}

test('a version goes to test, waits for its approval before prod, and comes back by a revert', async () => {
  let isSlow = false
  const w = await world(() => isSlow)
  const { b, versions, settings, phases, waits, approve, planeOf, releaseOf } = w
  await started(w)
  // The control planes of both are made with the hub's objects, before any stage.
  expect(await versions()).toEqual(['1.35.1', '1.35.1'])

  isSlow = true
  const up = b.repository.commit(fleet('1.36.0'))
  await eventually(versions, ([test]) => test === '1.36.0')
  await eventually(
    () => waits(up),
    (seen) => seen?.includes('Upgrading') === true,
  )
  // What is in the cluster waits for its control plane, and the other stage for this one. Also after a restart, and when the hub is compared again.
  await b.start()
  b.pass(61_000)
  await eventually(
    () => waits(up),
    (seen) => seen?.includes('Upgrading') === true,
  )
  expect([await versions(), await settings('test')]).toEqual([['1.36.0', '1.35.1'], '1.35.1'])
  isSlow = false
  await eventually(
    () => settings('test'),
    (v) => v === '1.36.0',
  )
  await eventually(
    () => waits(up),
    (seen) => seen?.startsWith('board: approved by 0 of 1') === true,
  )
  expect([await versions(), await phases(up)]).toEqual([['1.36.0', '1.35.1'], { test: 'Healthy', prod: 'Waiting' }])
  expect((await planeOf('prod'))?.metadata.annotations?.[ANNOTATIONS.commit]).not.toBe(up)
  await approve(up)
  await eventually(
    () => settings('prod'),
    (v) => v === '1.36.0',
  )
  expect(await versions()).toEqual(['1.36.0', '1.36.0'])
  await eventually(
    () => releaseOf(up),
    (r) => r?.status?.phase === 'Succeeded',
  )
  expect((await releaseOf(up))?.status?.record).toMatchObject([
    { commit: up, cluster: 'test', stage: 'test', phase: 'Healthy' },
    { commit: up, cluster: 'prod', stage: 'prod', phase: 'Healthy', approvedBy: ['ada'] },
  ])

  const back = b.repository.commit(fleet('1.35.1'))
  await eventually(
    () => settings('test'),
    (v) => v === '1.35.1',
  )
  await eventually(
    () => waits(back),
    (seen) => seen?.startsWith('board: approved by 0 of 1') === true,
  )
  expect(await versions()).toEqual(['1.35.1', '1.36.0'])
  await approve(back)
  await eventually(versions, ([test, prod]) => test === '1.35.1' && prod === '1.35.1')
})

test('a version that nobody serves stops the release in its first stage, with what is served', async () => {
  const w = await world()
  const { b, versions, settings, releaseOf, phases } = w
  await started(w)
  const wrong = b.repository.commit(fleet('1.37.0'))
  await eventually(
    () => releaseOf(wrong),
    (r) => r?.status?.phase === 'Paused',
  )
  const { status } = (await releaseOf(wrong)) ?? {}
  expect(status?.clusters?.find((c) => c.name === 'test')).toMatchObject({
    phase: 'Failed',
    message: expect.stringContaining('version 1.37.0; the host serves 1.35, 1.36'),
  })
  expect([await versions(), await settings('test')]).toEqual([['1.37.0', '1.35.1'], '1.35.1'])

  const right = b.repository.commit(fleet('1.35.1'))
  await eventually(
    () => phases(right),
    (p) => p['test'] === 'Healthy',
  )
  expect(await versions()).toEqual(['1.35.1', '1.35.1'])
})

test('without a gate of its own, prod waits for an approval of any user before its version changes, and a revert waits for none', async () => {
  const w = await world()
  const { b, versions, settings, phases, waits, approve, releaseOf, planeOf } = w
  const open = stagesWith('')
  await b
    .client('prod')
    .create(machine, { apiVersion: API_GROUP_VERSION, kind: 'Machine', metadata: { name: 'n-1' }, spec: {} } as never)
  const first = b.repository.commit(fleet('1.35.1', open))
  await b.start()
  await eventually(
    () => phases(first),
    (p) => p['prod'] === 'Healthy',
  )
  await eventually(
    async () => (await planeOf('prod'))?.status?.machines?.total,
    (total) => total === 1,
  )
  // A commit cannot exempt itself: the stages from before it bind.
  const up = b.repository.commit(fleet('1.36.0', stagesWith(`withoutApproval: ['Versions']`)))
  await eventually(
    () => waits(up),
    (seen) => seen?.startsWith('high-risk: cluster prod from 1.35.1 to 1.36.0: approved by 0 of 1') === true,
  )
  expect([await versions(), await settings('prod')]).toEqual([['1.36.0', '1.35.1'], '1.35.1'])
  // An Approval counts from the second after the one in which other content was rolled out.
  const replaced = Date.parse((await releaseOf(first))?.metadata.creationTimestamp ?? '')
  await eventually(
    () => Promise.resolve(Date.now() - replaced),
    (ms) => ms > 1_000,
  )
  await approve(up)
  await eventually(
    () => settings('prod'),
    (v) => v === '1.36.0',
  )
  await eventually(
    () => releaseOf(up),
    (r) => r?.status?.phase === 'Succeeded',
  )
  expect((await releaseOf(up))?.status?.record).toMatchObject([
    { cluster: 'test' },
    { cluster: 'prod', approvedBy: ['ada'], gates: [{ name: 'high-risk', when: 'Before', result: 'Passed' }] },
  ])
  const back = b.repository.commit(fleet('1.35.1', open), `Revert "change"\n\nThis reverts commit ${up}.`)
  await eventually(versions, ([test, prod]) => test === '1.35.1' && prod === '1.35.1')
  await eventually(
    () => releaseOf(back),
    (r) => r?.status?.phase === 'Succeeded',
  )
})

test('a Cluster that a commit removes is deleted in its stage after an approval, and a revert before that changes nothing', async () => {
  const w = await world()
  const { b, settings, phases, waits, approve, releaseOf, planeOf } = w
  const quiet = `[{ name: 'quiet', noNewRepairs: {} }]`
  const open = stagesWith(`before: ${quiet}, gates: ${quiet}, after: ${quiet.replace('quiet', 'calm')}`)
  for (const name of ['test', 'prod'])
    await b
      .client(name)
      .create(machine, { apiVersion: API_GROUP_VERSION, kind: 'Machine', metadata: { name: 'n-1' }, spec: {} } as never)
  const first = b.repository.commit(fleet('1.35.1', open))
  await b.start()
  await eventually(
    () => phases(first),
    (p) => p['prod'] === 'Healthy',
  )
  await eventually(
    async () => (await planeOf('prod'))?.status?.machines?.total,
    (total) => total === 1,
  )
  const uid = (await planeOf('prod'))?.metadata.uid

  // The other cluster changes in the same commit, and goes first.
  const gone = b.repository.commit(fleet('1.36.0', open, ['test']))
  const asked = 'high-risk: deletion of cluster prod with 1 machine: approved by 0 of 1'
  await eventually(
    () => waits(gone),
    (seen) => seen?.startsWith(asked) === true,
  )
  // Also after a restart, and when the hub is compared again.
  await b.start()
  b.pass(61_000)
  await eventually(
    () => waits(gone),
    (seen) => seen?.startsWith(asked) === true,
  )
  expect([await settings('test'), (await planeOf('prod'))?.metadata.uid]).toEqual(['1.36.0', uid])

  const back = b.repository.commit(fleet('1.36.0', open), `Revert "change"\n\nThis reverts commit ${gone}.`)
  await eventually(
    () => waits(back),
    (seen) => seen?.startsWith('high-risk: cluster prod from 1.35.1 to 1.36.0: approved by 0 of 1') === true,
  )
  expect((await planeOf('prod'))?.metadata).toMatchObject({ uid })
  expect((await planeOf('prod'))?.metadata.deletionTimestamp).toBeUndefined()

  const again = b.repository.commit(fleet('1.36.0', open, ['test']))
  await eventually(
    () => waits(again),
    (seen) => seen?.startsWith(asked) === true,
  )
  const replaced = Date.parse((await releaseOf(again))?.metadata.creationTimestamp ?? '')
  await eventually(
    () => Promise.resolve(Date.now() - replaced),
    (ms) => ms > 1_000,
  )
  await approve(again)
  await eventually(
    () => planeOf('prod'),
    (plane) => plane === undefined,
    20_000,
  )
  await eventually(
    () => releaseOf(again),
    (r) => r?.status?.phase === 'Succeeded',
    20_000,
  )
  expect((await releaseOf(again))?.status?.record).toMatchObject([
    { cluster: 'test', phase: 'Unchanged' },
    {
      cluster: 'prod',
      stage: 'prod',
      phase: 'Healthy',
      approvedBy: ['ada'],
      gates: [{ name: 'quiet' }, { name: 'high-risk' }, { name: 'calm' }],
    },
  ])
  expect((await releaseOf(again))?.status?.clusters?.find((c) => c.name === 'prod')).toMatchObject({
    phase: 'Healthy',
    message: expect.stringContaining('removed this cluster'),
  })
  expect((await releaseOf(again))?.status?.record?.[1]?.gates?.[1]?.evidence).toContain('deletion of cluster prod')
  // What is in the cluster stays with its machines: the Cluster's controller removes them.
  expect(await settings('prod')).toBe('1.35.1')
  // No Release for the same commit once the Cluster was deleted, and another Cluster of the name begins without its history.
  b.pass(61_000)
  await b.start()
  const count = (await b.releases()).length
  const anew = b.repository.commit(fleet('1.36.0', open))
  await eventually(
    () => planeOf('prod'),
    (plane) => plane !== undefined && plane.metadata.uid !== uid,
  )
  await eventually(
    () => phases(anew),
    (p) => p['prod'] === 'Healthy',
    20_000,
  )
  expect((await b.releases()).length).toBe(count + 1)
})

test('on the way to an older version the control plane comes after its nodes, also when the hub is compared', async () => {
  const { b, versions, waits, approve, phases } = await world()
  const first = b.repository.commit(fleet('1.36.0'))
  await b.start()
  await eventually(
    () => waits(first),
    (seen) => seen?.startsWith('board: approved by 0 of 1') === true,
  )
  await approve(first)
  await eventually(
    () => phases(first),
    (p) => p['prod'] === 'Healthy',
  )
  const text = fleet('1.35.1')['fleet/main.ts'].replace(`'v1', kind: 'ConfigMap'`, `'example.org/v1', kind: 'Unknown'`)
  const down = b.repository.commit({ 'fleet/main.ts': text })
  await eventually(
    () => waits(down),
    (seen) => seen?.includes('Unknown') === true,
  )
  const hub = () => b.hub.client.get(CONFIG_MAP, { namespace: SYSTEM_NAMESPACE, name: 'note' })
  await b.hub.client.patch(
    CONFIG_MAP,
    { namespace: SYSTEM_NAMESPACE, name: 'note' },
    { type: 'merge', value: { data: { for: 'edited' } } },
  )
  // Reverted: the hub was compared.
  await whileTimePasses(b, 61_000, hub, (note) => (note?.['data'] as { for?: string } | undefined)?.for === 'hub')
  expect(await versions()).toEqual(['1.36.0', '1.36.0'])
})
