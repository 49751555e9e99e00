// The digest of deletions that `kubenode plan` names is the one that the prune guard asks for once the commit is applied, and `kubenode approve` takes it as it is written.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { takeInventory } from '#forecast/plan/take-inventory.ts'
import { run } from '#cli/program.ts'
import type { Inventory } from '#forecast/inventory.ts'
import type { Prunes } from '#forecast/prunes.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

interface Fleet {
  readonly configs: readonly string[]
  readonly sets: readonly string[]
  readonly onHub: readonly string[]
  readonly soak: string
  /** Control planes on the hub; no host makes them here. */
  readonly hosted?: readonly string[]
}

const fleet = ({ configs, sets, onHub, soak, hosted = [] }: Fleet) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet, ReleasePipeline } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [{ name: 'test', clusters: { names: ['test'] }, minSuccessTime: '${soak}', maxNewFailures: 100 }, { name: 'prod', clusters: { names: ['prod'] } }] } })
new Cluster(hub, 'test', { spec: { kubeconfigSecretRef: { name: 'cluster-test', key: 'kubeconfig' }, stage: 'test' } })
for (const name of ${JSON.stringify(hosted)})
  new Cluster(hub, name, { spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete', stage: 'prod' } })
const chart = new ClusterChart(app, 'test')
const map = (on: ConstructorParameters<typeof ApiObject>[0], name: string) => new ApiObject(on, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
for (const name of ${JSON.stringify(configs)}) map(chart, name)
for (const name of ${JSON.stringify(onHub)}) map(hub, name)
for (const name of ${JSON.stringify(sets)})
  new MachineSet(chart, name, { spec: { replicas: 0, selector: { matchLabels: { pool: name } }, template: { metadata: { labels: { pool: name } }, spec: { provider: { name: 'static', params: {} } } } } })
app.synth()
`,
})

const ALL: Fleet = { configs: ['a', 'b', 'c'], sets: ['workers', 'spare'], onHub: ['x', 'y', 'z'], soak: '1s' }
const LESS: Fleet = { configs: ['a'], sets: ['spare'], onHub: ['x'], soak: '0s' }

const releaseOf = async (b: SyncBench, commit: string, track: string) =>
  (await b.releases()).find((r) => r.spec.commit === commit && r.spec.track === track)
const pruneIn = (r: Release | undefined) => r?.status?.clusters?.find((c) => c.name === 'test')?.prune
const onHub = (b: SyncBench) =>
  b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }).then((s) => s?.status?.prunes ?? [])

async function started(all: Fleet = ALL): Promise<SyncBench> {
  const tracks = [
    { name: 'machines', match: { kinds: ['MachineSet'] }, pipelineRef: { name: 'standard' } },
    { name: 'rest', pipelineRef: { name: 'standard' } },
  ]
  const b = await syncBench(['test'], { prune: { enabled: true, guard: 1 }, drift: 'Detect', tracks })
  bench = b
  const first = b.repository.commit(fleet(all))
  await b.start()
  await eventually(
    () => b.client('test').list(machineSet),
    ({ items }) => items.length === ALL.sets.length,
  )
  await eventually(
    () => releaseOf(b, first, 'rest'),
    // Nothing makes the control plane of a hosted cluster here.
    (r) =>
      all.hosted === undefined
        ? r?.status?.phase === 'Succeeded'
        : r?.status?.clusters?.some((c) => c.name === 'prod' && c.phase !== 'Waiting') === true,
  )
  return b
}

const exported = (b: SyncBench, cluster: string): Promise<Inventory> =>
  takeInventory(cluster === 'hub' ? b.hub.client : b.client(cluster), { cluster, takenAt: new Date().toISOString() })

interface Planned {
  readonly prunes: Prunes
  readonly loosened?: unknown
  readonly markdown: string
}

async function planned(b: SyncBench, inventories: readonly Inventory[]): Promise<Planned> {
  const files = inventories.map((inventory, i) => {
    const file = join(b.repository.dir, '.git', `${i}.json`)
    writeFileSync(file, JSON.stringify(inventory))
    return ['--inventory', file]
  })
  const printed = async (output: string) => {
    let out = ''
    const io = { out: (text: string) => void (out += text), err: () => undefined, env: process.env, isTerminal: false }
    const args = ['plan', '-o', output, '--weak-cage', 'allow', ...files.flat()]
    expect(await run(args, { ...io, cwd: b.repository.dir })).toBe(0)
    return out
  }
  const json = JSON.parse(await printed('json')) as Pick<Planned, 'prunes' | 'loosened'>
  return { ...json, markdown: await printed('markdown') }
}

const digestsOf = ({ prunes }: Planned) =>
  Object.fromEntries(prunes.promised.map((p) => [`${p.cluster} ${p.track}`, p.digest]))

test('the plan names the digest that the guard asks for, on the hub and in a cluster, track by track, and it is approved as the plan writes it', async () => {
  const b = await started()
  // Made by hand: no controller runs here.
  const set = await b.client('test').get(machineSet, { name: 'workers' })
  const owner = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineSet',
    name: 'workers',
    uid: set?.metadata.uid ?? '',
  }
  for (const name of ['m-1', 'm-2'])
    await b.client('test').create(machine, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name, labels: { pool: 'workers' }, ownerReferences: [{ ...owner, controller: true }] },
      spec: { provider: { name: 'static', params: {} } },
    } as never)
  const inventories = [await exported(b, 'test'), await exported(b, 'hub')]
  const commit = b.repository.commit(fleet(LESS))
  const plan = await planned(b, inventories)
  expect(plan.loosened).toEqual([
    {
      cluster: 'hub',
      object: `ReleasePipeline.kubenode.io/${SYSTEM_NAMESPACE}/standard`,
      what: ['stage test: minSuccessTime 1s → 0s'],
    },
  ])
  expect(plan.markdown).toContain('🟠 **This loosens')
  expect(plan.prunes.unknown).toEqual([])
  expect(plan.prunes.promised.map(({ cluster, track, count, guard }) => [cluster, track, count, guard])).toEqual([
    ['hub', 'rest', 2, 1],
    ['test', 'machines', 1, 1],
    ['test', 'rest', 2, 1],
  ])
  expect(plan.prunes.promised.find((p) => p.track === 'machines')).toMatchObject({ machines: 2, allowedMachines: 1 })
  expect(plan.prunes.promised.filter((p) => p.mayDiffer !== undefined)).toEqual([])

  const hub = await eventually(
    () => onHub(b),
    (all) => all.length > 0,
  )
  // Deletions on the hub hold the whole commit: the clusters have no Release of it yet.
  expect([await releaseOf(b, commit, 'machines'), await releaseOf(b, commit, 'rest')]).toEqual([undefined, undefined])
  const kubeconfig = join(b.repository.dir, '.git', 'hub.kubeconfig')
  writeFileSync(kubeconfig, b.hub.server.adminKubeconfig())
  const approve = async (what: string) => {
    let said = ''
    const add = (text: string) => void (said += text)
    const io = { out: add, err: add, env: {}, isTerminal: false, cwd: b.repository.dir }
    return { code: await run(['approve', what, '--kubeconfig', kubeconfig], io), said }
  }
  expect(await approve(`sha256:${hub[0]?.held.digest}`)).toMatchObject({ code: 0 })
  const [machines, rest] = await eventually(
    () => Promise.all([releaseOf(b, commit, 'machines'), releaseOf(b, commit, 'rest')]),
    (all) => all.every((r) => pruneIn(r) !== undefined),
  )
  const asked = {
    'hub rest': hub[0]?.held.digest,
    'test machines': pruneIn(machines)?.digest,
    'test rest': pruneIn(rest)?.digest,
  }
  expect(digestsOf(plan)).toEqual(asked)

  for (const digest of Object.values(asked)) expect(plan.markdown).toContain(`kubenode approve sha256:${digest}`)
  // Nothing red is folded away.
  expect(plan.markdown.indexOf('kubenode approve')).toBeLessThan(plan.markdown.indexOf('<details>'))
  expect(await approve(`sha256:${'0'.repeat(64)}`)).toMatchObject({ code: 2, said: expect.stringMatching(/KN1349/) })
  expect(await approve(`sha256:${asked['test rest']?.slice(0, 12)}`)).toMatchObject({
    code: 2,
    said: expect.stringMatching(/KN1325/),
  })
  const done = await approve(`sha256:${asked['test rest']}`)
  expect(done.code).toBe(0)
  expect(done.said).toContain(`approved release/${rest?.metadata.name}, cluster test: 2 objects would be deleted`)
  await eventually(
    () => b.client('test').list(CONFIG_MAP, { namespace: 'default' }),
    ({ items }) => items.every((o) => !['b', 'c'].includes(o.metadata.name ?? '')),
  )
  const recorded = await eventually(
    () => releaseOf(b, commit, 'rest'),
    (r) => r?.status?.record?.[0]?.deletions !== undefined,
  )
  expect(recorded?.status?.record?.[0]?.deletions).toMatchObject({ digest: asked['test rest'], count: 2 })
  expect(recorded?.status?.record?.[0]?.deletions?.approvedBy).toHaveLength(1)
  // Only that: the machines of the other track are still asked for.
  const approvals = (await b.hub.client.list(approval)).items.map((a) => a.spec.digest)
  expect(new Set(approvals)).toEqual(new Set([asked['hub rest'], asked['test rest']]))
  expect(await b.client('test').get(machineSet, { name: 'workers' })).toBeDefined()
}, 300_000)

test('the plan draws a Cluster whose machines go with it in its stage, whose approval the release asks for', async () => {
  const hosted = { ...ALL, hosted: ['prod'] }
  const b = await started(hosted)
  const metadata = { name: 'prod', namespace: SYSTEM_NAMESPACE }
  // It has served, and does not answer now: the number of its machines is unknown.
  const at = new Date().toISOString()
  const history = [{ version: '1.36.0', startedAt: at, completedAt: at, message: 'created' }]
  await b.hub.client.patch(clusterKind, metadata, { type: 'merge', value: { status: { history } } } as never, {
    subresource: 'status',
  })
  const inventories = [await exported(b, 'hub')]
  const commit = b.repository.commit(fleet(ALL))
  const plan = await planned(b, inventories)
  expect(plan.prunes.promised).toEqual([])
  expect(plan.markdown).toContain(
    'deletes cluster/prod with everything in its control plane and all of its machines in stage prod, 2 of 2, after an approval; until its turn a revert changes nothing',
  )
  const asked = await eventually(
    () => releaseOf(b, commit, 'rest'),
    (r) => r?.status?.waitingFor?.seen?.startsWith('high-risk: ') === true,
  )
  expect(asked?.status?.waitingFor?.seen).toMatch(
    /deletion of cluster prod with machines that are not counted: approved by 0/,
  )
  expect(await onHub(b)).toEqual([])
  expect(await b.hub.client.get(clusterKind, metadata)).toBeDefined()
}, 300_000)

test('an inventory of before another commit says that the digest may differ, and it does; one without what was applied says that it is unknown', async (context) => {
  onlyInFull(context)
  const b = await started()
  const before = await exported(b, 'test')
  const rules = await exported(b, 'hub')
  const between = b.repository.commit(fleet({ ...ALL, configs: ['a', 'b', 'c', 'd'] }))
  await eventually(
    () => releaseOf(b, between, 'rest'),
    (r) => r?.status?.phase === 'Succeeded',
  )
  const commit = b.repository.commit(fleet({ ...ALL, configs: ['a'] }))
  const plan = await planned(b, [before, rules])
  const [promised] = plan.prunes.promised
  expect(promised?.mayDiffer).toBe(
    'the cluster does not have 1 object yet that the base of the plan declares, the first is ConfigMap/default/d',
  )
  expect(plan.markdown).toContain('the digest may differ')
  const asked = await eventually(
    () => releaseOf(b, commit, 'rest'),
    (r) => pruneIn(r) !== undefined,
  )
  expect(pruneIn(asked)?.digest).not.toBe(promised?.digest)

  const { applied: _, canaries: __, ...older } = before
  const unknown = await planned(b, [older, rules])
  expect(unknown.prunes).toMatchObject({ promised: [], unknown: [{ cluster: 'test' }] })
  expect(unknown.markdown).toMatch(/older release; export it again/)
}, 300_000)
