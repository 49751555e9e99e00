// A commit goes to test, then to prod; on a failure it stops there and reports why.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import { whyLines } from '#explain/why.ts'
import { holdFor } from '#cli/commands/rollout/holds.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { NewEvent } from '#kube/events.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { DeclaredAgentConfig } from '#declared/followed-agent-config.ts'
import { ConfigFiles } from '#providers/config-file.ts'
import { createInformers } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench, whileTimePasses } from '#test/support/benches/sync-bench.ts'

let bench: SyncBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

interface FleetOptions {
  readonly soak?: string
  readonly extra?: string
}

/** Two clusters, each with a ConfigMap that holds a version; what is special comes as code. */
const fleet = (version: string, { soak = '0s', extra = '' }: FleetOptions = {}) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet, ReleasePipeline } from 'kubenode/constructs'
import { version } from './version.ts'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
const stage = (name: string) => ({ name, clusters: { names: [name] }, minSuccessTime: '${soak}', progressDeadline: '10m', offlineDeadline: '1h' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [stage('test'), stage('prod')] } })
for (const name of ['test', 'prod']) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: \`cluster-\${name}\`, key: 'kubeconfig' }, stage: name } })
  const chart = new ClusterChart(app, name)
  const config = (id: string) => new ApiObject(chart, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: id, namespace: 'default' }, data: { version } })
  config('settings')
  ${extra}
}
app.synth()
`,
  'fleet/version.ts': `export const version: string = '${version}'\n`,
})

const MINUTE_MS = 60_000
/** Longer than the deadline of a stage, and than the soak of the test that has one; shorter than a cluster may be away. */
const PASSED_MS = 11 * MINUTE_MS

const SETTINGS = { namespace: 'default', name: 'settings' }

async function versionOf(b: SyncBench, cluster: string): Promise<unknown> {
  const found = await b.client(cluster).get(CONFIG_MAP, SETTINGS)
  return found?.['data']?.['version']
}

const versions = async (b: SyncBench) => [await versionOf(b, 'test'), await versionOf(b, 'prod')]
const both = (version: string) => (seen: readonly unknown[]) => seen.every((v) => v === version)

/** What the conditions of the source were, one after the other, until it is asked. */
function conditionsTold({ hub }: SyncBench): () => Promise<readonly (readonly [string, string])[]> {
  const stop = new AbortController()
  const told: (readonly [string, string])[] = []
  const watching = (async () => {
    for await (const event of hub.client.watch(fleetSource, { signal: stop.signal }))
      if (event.type === 'ADDED' || event.type === 'MODIFIED')
        for (const { type, reason } of event.object.status?.conditions ?? []) told.push([type, reason])
  })().catch((e: unknown) => {
    if (!stop.signal.aborted) throw e
  })
  return async () => {
    stop.abort()
    await watching
    expect(told).not.toEqual([])
    return told
  }
}

const newestPhase = async (b: SyncBench, commit: string) =>
  (await b.releases()).find((r) => r.spec.commit === commit)?.status

test('a commit reaches test, then prod; objects carry the commit that changed them last, and a revert is a commit like any other', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const first = b.repository.commit(fleet('1', { extra: `if (true) config('other')` }))
  const told = conditionsTold(b)
  await b.start()
  await eventually(() => versions(b), both('1'))
  // The pipeline comes with the commit itself.
  expect((await told()).filter(([, reason]) => reason === 'ReferenceMissing')).toEqual([])
  const succeeded = await eventually(
    () => newestPhase(b, first),
    (s) => s?.phase === 'Succeeded',
  )
  expect(succeeded?.clusters?.map((c) => [c.name, c.stage, c.phase])).toEqual([
    ['test', 'test', 'Healthy'],
    ['prod', 'prod', 'Healthy'],
  ])
  expect(succeeded?.stages?.map((s) => [s.name, s.phase])).toEqual([
    ['test', 'Succeeded'],
    ['prod', 'Succeeded'],
  ])

  const second = b.repository.commit(
    { 'fleet/note.json': '{}', 'fleet/version.ts': `export const version: string = '2'\n` },
    'two',
  )
  await eventually(() => versions(b), both('2'))
  await eventually(
    () => newestPhase(b, second),
    (s) => s?.phase === 'Succeeded',
  )

  b.repository.git('revert', '--no-edit', second)
  const third = b.repository.git('rev-parse', 'HEAD')
  await eventually(() => versions(b), both('1'))
  const all = await b.releases()
  expect(all.find((r) => r.spec.commit === third)?.spec).toMatchObject({ revertOf: second })
  const settings = await b.client('prod').get(CONFIG_MAP, SETTINGS)
  expect(settings?.metadata.annotations?.['kubenode.io/commit']).toBe(third)
})

test('while a release waits in test, an edit by hand is reverted in each cluster to what was released there', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const first = b.repository.commit(fleet('1', { soak: '6h' }))
  await b.start()
  for (const cluster of [0, 1]) {
    await eventually(
      () => newestPhase(b, first),
      (s) => s?.clusters?.[cluster]?.healthySince !== undefined,
    )
    b.pass(6 * 60 * MINUTE_MS)
  }
  await eventually(
    () => newestPhase(b, first),
    (s) => s?.phase === 'Succeeded',
  )
  const second = b.repository.commit({ 'fleet/version.ts': `export const version: string = '2'\n` })
  await eventually(
    () => versions(b),
    ([test, prod]) => test === '2' && prod === '1',
  )
  const editAll = async () => {
    for (const cluster of ['test', 'prod'])
      await b.client(cluster).patch(CONFIG_MAP, SETTINGS, { type: 'merge', value: { data: { version: 'edited' } } })
  }
  await editAll()
  await whileTimePasses(
    b,
    2 * MINUTE_MS,
    () => versions(b),
    ([test, prod]) => test === '2' && prod === '1',
  )
  const settings = await b.client('prod').get(CONFIG_MAP, SETTINGS)
  expect(settings?.metadata.annotations?.['kubenode.io/commit']).toBe(first)
  expect(await newestPhase(b, second)).toMatchObject({
    phase: 'Progressing',
    clusters: [{ name: 'test' }, { name: 'prod', phase: 'Waiting' }],
  })

  const target = { kind: 'FleetSource', namespace: SYSTEM_NAMESPACE, name: 'fleet' } as const
  const wish = { target, effect: 'Pause', reason: 'an emergency', for: '7d', author: ADMIN } as const
  await b.hub.client.create(operationalHold, holdFor(wish, Date.now()))
  await eventually(
    () => newestPhase(b, second),
    (s) => s?.phase === 'Paused',
  )
  await editAll()
  const told = async () =>
    (await b.hub.client.list(coreKind('Event'), { namespace: SYSTEM_NAMESPACE })).items.map(
      (e) => `${String(e['reason'])} ${String(e['note'] ?? e['message'])}`,
    )
  await whileTimePasses(b, 2 * MINUTE_MS, told, (all) => all.some((e) => e.startsWith('DriftDetected prod: ')))
  expect(await versions(b)).toEqual(['edited', 'edited'])
})

test('an object whose content did not change keeps the commit that changed it', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const fixed = `new ApiObject(chart, 'fixed', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'fixed', namespace: 'default' }, data: { a: 'b' } })`
  const first = b.repository.commit(fleet('1', { extra: fixed }))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const second = b.repository.commit({ 'fleet/version.ts': `export const version: string = '2'\n` })
  await eventually(
    () => newestPhase(b, second),
    (s) => s?.phase === 'Succeeded',
  )
  const commitOf = async (name: string) =>
    (await b.client('prod').get(CONFIG_MAP, { namespace: 'default', name }))?.metadata.annotations?.[
      'kubenode.io/commit'
    ]
  expect([await commitOf('fixed'), await commitOf('settings')]).toEqual([first, second])
  const shards = (await b.client('prod').list(inventory)).items
  expect(shards.map((s) => [s.spec.commit, s.spec.refs.map((r) => r.name)])).toEqual([[second, ['fixed', 'settings']]])
})

test('what does not become healthy in test never reaches prod; the next commit takes over', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const set = `if (version === 'bad') new MachineSet(chart, 'workers', { spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } } } })`
  b.repository.commit(fleet('1', { extra: set }))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const bad = b.repository.commit({ 'fleet/version.ts': `export const version: string = 'bad'\n` })
  const waiting = await eventually(
    () => newestPhase(b, bad),
    (s) => s?.clusters?.[0]?.phase === 'Verifying' && s.clusters[0].waitingFor !== undefined,
  )
  expect(waiting?.clusters?.[0]?.waitingFor).toMatchObject({
    predicate: 'Progressing',
    seen: 'machineset/workers: no status reported yet',
  })
  expect(waiting?.clusters?.[1]).toMatchObject({
    name: 'prod',
    phase: 'Waiting',
    waitingFor: { predicate: 'StageWaiting' },
  })
  expect(await versions(b)).toEqual(['bad', '1'])
  b.pass(PASSED_MS)
  const failed = await eventually(
    () => newestPhase(b, bad),
    (s) => s?.phase === 'Paused',
  )
  expect(failed?.waitingFor).toMatchObject({ predicate: 'StageFailed' })

  b.repository.git('revert', '--no-edit', bad)
  await eventually(() => versions(b), both('1'))
  expect(await newestPhase(b, bad)).toMatchObject({ phase: 'Reverted' })
  expect(await b.client('test').get(machineSet, { name: 'workers' })).toBeUndefined()
})

test('a fleet that breaks, a deleted branch and a force-push leave the last good state, and say so', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const first = b.repository.commit(fleet('1'))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const condition = async (type: string) =>
    (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
      (c) => c.type === type,
    )

  b.repository.commit({
    'fleet/version.ts': `throw new Error('no such version')\nexport const version: string = '2'\n`,
  })
  const broken = await eventually(
    () => condition('Rendered'),
    (c) => c?.status === 'False',
  )
  expect(broken).toMatchObject({ reason: 'RenderFailed' })
  expect(broken?.message).toContain('at fleet/version.ts:1:7: no such version')

  b.repository.git('checkout', '--quiet', '--detach')
  b.repository.git('branch', '-D', 'main')
  const lost = await eventually(
    () => condition('Fetched'),
    (c) => c?.status === 'False',
  )
  expect(lost).toMatchObject({ reason: 'RefMissing', message: expect.stringContaining('KN1664') as string })
  expect(await versions(b)).toEqual(['1', '1'])

  b.repository.git('checkout', '--quiet', '-B', 'main', first)
  const pushed = b.repository.commit({ 'fleet/version.ts': `export const version: string = '3'\n` })
  await eventually(() => versions(b), both('3'))
  await eventually(
    () => newestPhase(b, pushed),
    (s) => s?.phase === 'Succeeded',
  )
  b.repository.git('reset', '--quiet', '--hard', first)
  await eventually(() => versions(b), both('1'))
  const names = (await b.releases()).map((r) => r.metadata.name)
  expect(names).toContain(`fleet-${first.slice(0, 12)}-2`)
  // It is followed, and stays reported until the next commit.
  expect(await condition('Fetched')).toMatchObject({
    status: 'True',
    reason: 'HistoryRewritten',
    message: expect.stringMatching(
      new RegExp(`does not contain ${pushed.slice(0, 12)} "[^"]+" by .+, followed before`),
    ) as string,
  })
  const next = b.repository.commit({ 'fleet/version.ts': `export const version: string = '4'\n` })
  await eventually(
    () => condition('Fetched'),
    (c) => c?.reason === 'UpToDate' && c.message.includes(next.slice(0, 12)),
  )
})

test('what no cluster can meet is refused before anything of the commit is applied, with number, object and file', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  b.repository.commit(fleet('1'))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const rules = (second: string) => `
import { ApiObject } from 'cdk8s'
import type { Chart } from 'cdk8s'
const leaf = (value: string) => ({ fact: 'conditions', path: '/Ready/status', operator: 'equal', value })
export const rules = (chart: Chart) => new ApiObject(chart, 'r', {
  apiVersion: 'kubenode.io/v1alpha1', kind: 'NodeRemedier', metadata: { name: 'never-mind' },
  spec: { when: { all: [leaf('False'), leaf('${second}')] }, ladder: [{ operations: [{ cordon: {} }] }] },
})
`
  const main = fleet('2', { extra: 'rules(chart)' })
  const bad = b.repository.commit({
    ...main,
    'fleet/main.ts': `import { rules } from './rules.ts'\n${main['fleet/main.ts']}`,
    'fleet/rules.ts': rules('True'),
  })
  const refused = await eventually(
    async () =>
      (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
        (c) => c.type === 'Rendered',
      ),
    (c) => c?.status === 'False',
  )
  expect(refused?.reason).toBe('RenderFailed')
  expect(refused?.message).toMatch(/KN7117: .*KN4001: .*NodeRemedier.*never-mind in prod, test/)
  expect(await versions(b)).toEqual(['1', '1'])
  expect((await b.releases()).some((r) => r.spec.commit === bad)).toBe(false)
  const planned = await kubenode(b.repository.dir, 'plan')
  expect(planned.code).toBe(2)
  expect(planned.err).toMatch(/^error: KN4001: .*can never be true.*\(fleet\/rules\.ts:5, see fleet\/rules\.ts:6\)$/m)
  b.repository.commit({ 'fleet/rules.ts': rules('False') })
  await eventually(() => versions(b), both('2'))
  expect((await kubenode(b.repository.dir, 'plan')).code).toBe(0)
})

/** The agent.json of one host in each cluster, kept as providers keep it. */
async function hostsOf(b: SyncBench) {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-hosts-'))
  const events: string[] = []
  const started = ['test', 'prod'].map((cluster) => {
    const informers = createInformers({
      client: b.client(cluster),
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      startSpreadMs: 0,
    })
    const recorder = {
      record: (_: KubeObject, { reason }: NewEvent) => void events.push(`${cluster} ${reason}`),
      flush: () => Promise.resolve(),
    }
    const declared = new DeclaredAgentConfig({ informers, clock: systemClock, events: recorder, log: silentLogger })
    informers.start()
    return { informers, path: join(folder, `${cluster}.json`), files: new ConfigFiles(async () => declared.text()) }
  })
  const leaseOn = async ({ path, files }: (typeof started)[number]): Promise<unknown> => {
    await files.keep(path)
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).lease : undefined
  }
  return {
    events,
    leases: () => Promise.all(started.map(leaseOn)),
    end: async () => {
      await Promise.all(started.map(({ informers }) => informers.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const withAgents = (version: string, config: string) => {
  const set = `if (version === 'bad') new MachineSet(chart, 'workers', { spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } } } })`
  const all = fleet(version, { extra: `new AgentConfig(chart, 'agents', agents); ${set}` })
  const imports = `import { AgentConfig } from 'kubenode/agent-config'\nimport agents from './machines/agent.json' with { type: 'json' }\n`
  return { ...all, 'fleet/main.ts': imports + all['fleet/main.ts'], 'fleet/machines/agent.json': config }
}

test('a change of agent.json goes through the stages as everything else, and a revert takes it back', async (context) => {
  // Any other object goes the same way in the first test; a mistake in this file has a test below.
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const first = b.repository.commit(withAgents('1', '{ "lease": "5s" }\n'))
  const hosts = await hostsOf(b)
  try {
    await b.start()
    await eventually(hosts.leases, (l) => l.every((lease) => lease === '5s'))
    await eventually(
      () => newestPhase(b, first),
      (s) => s?.phase === 'Succeeded',
    )
    const bad = b.repository.commit(withAgents('bad', '{ "lease": "7s" }\n'))
    await eventually(hosts.leases, ([test]) => test === '7s')
    await eventually(
      () => newestPhase(b, bad),
      (s) => s?.clusters?.[0]?.waitingFor?.predicate === 'Progressing',
    )
    b.pass(PASSED_MS)
    await eventually(
      () => newestPhase(b, bad),
      (s) => s?.phase === 'Paused',
    )
    expect(await hosts.leases()).toEqual(['7s', '5s'])

    b.repository.git('revert', '--no-edit', bad)
    await eventually(hosts.leases, (l) => l.every((lease) => lease === '5s'))
    const good = b.repository.commit({ 'fleet/machines/agent.json': '{ "lease": "8s" }\n' })
    const planned = await kubenode(b.repository.dir, 'plan')
    expect(planned.out).toMatch(
      /ConfigMap\/kubenode-system\/kubenode-agent-config\n +data\.agent\.json\.lease: .*5s.*8s/,
    )
    await eventually(
      () => newestPhase(b, good),
      (s) => s?.phase === 'Succeeded',
    )
    await eventually(hosts.leases, (l) => l.every((lease) => lease === '8s'))

    b.repository.commit({
      'fleet/main.ts': withAgents('1', '')['fleet/main.ts'].replace(`new AgentConfig(chart, 'agents', agents)`, ''),
    })
    await eventually(
      async () => {
        await hosts.leases()
        return hosts.events
      },
      (seen) => seen.length === 2,
    )
    expect([hosts.events.toSorted(), await hosts.leases()]).toEqual([
      ['prod AgentConfigDeleted', 'test AgentConfigDeleted'],
      ['8s', '8s'],
    ])
  } finally {
    await hosts.end()
  }
})

test('an agent.json with a mistake is refused with its file and key, and reaches no cluster', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  b.repository.commit(withAgents('1', '{ "lease": "5s" }\n'))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const refused = async (text: string) => {
    const commit = b.repository.commit(withAgents('2', text))
    const condition = await eventually(
      async () =>
        (await b.hub.client.get(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' }))?.status?.conditions?.find(
          (c) => c.type === 'Rendered',
        ),
      (c) => c?.status === 'False' && c.message.includes(commit.slice(0, 12)),
    )
    const { code, err } = await kubenode(b.repository.dir, 'plan')
    return [condition?.message, code, err]
  }
  const typo = /KN3072: .*kubenode-agent-config in prod, test, .*cannot use agent\.json: leese is not a known key/
  expect(await refused('{\n  "leese": "5s"\n}\n')).toEqual([
    expect.stringMatching(typo),
    2,
    expect.stringMatching(
      /leese is not a known key .*did you mean lease\?.*\(fleet\/main\.ts:\d+, see fleet\/machines\/agent\.json:2\)/,
    ),
  ])
  const broken = /KN7102: .*fleet\/machines\/agent\.json/
  expect(await refused('{ "logs": [')).toEqual([expect.stringMatching(broken), 2, expect.stringMatching(broken)])
  expect(await versions(b)).toEqual(['1', '1'])
})

async function kubenode(cwd: string, ...argv: string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => (out += t),
    err: (t: string) => (err += t),
    cwd,
    env: process.env,
    isTerminal: false,
  }
  return { code: await run(argv, io), out, err }
}

test('a newer commit does not wait for the render of one that loops for ever', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  b.repository.commit(fleet('1'))
  await b.start()
  await eventually(() => versions(b), both('1'))
  b.repository.commit({ 'fleet/version.ts': `for (;;);\nexport const version: string = '2'\n` })
  await eventually(
    () => b.rendering(),
    (n) => n > 0,
  )
  b.repository.commit({ 'fleet/version.ts': `export const version: string = '3'\n` })
  await eventually(() => versions(b), both('3'))
})

test('F17 a sync that is killed half way goes on where it was', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const soaked = async (commit: string, cluster: number) => {
    await eventually(
      () => newestPhase(b, commit),
      (s) => s?.clusters?.[cluster]?.phase === 'Healthy',
    )
    b.pass(PASSED_MS)
  }
  const first = b.repository.commit(fleet('1', { soak: '10m' }))
  const kill = await b.start()
  await eventually(
    () => versionOf(b, 'test'),
    (v) => v === '1',
  )
  await kill()
  expect(await versionOf(b, 'prod')).toBeUndefined()
  const killAgain = await b.start()
  await soaked(first, 0)
  await eventually(() => versions(b), both('1'))

  const second = b.repository.commit({ 'fleet/version.ts': `export const version: string = '2'\n` })
  await eventually(
    () => versionOf(b, 'test'),
    (v) => v === '2',
  )
  await killAgain()
  await b.start()
  for (const cluster of [0, 1]) await soaked(second, cluster)
  const status = await eventually(
    () => newestPhase(b, second),
    (s) => s?.phase === 'Succeeded',
  )
  expect(status?.clusters?.map((c) => c.phase)).toEqual(['Healthy', 'Healthy'])
})

test('a field of another owner is reported and not taken; one bad object delays no other', async () => {
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const theirs = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'theirs', namespace: 'default' },
    data: { version: 'mine' },
  } satisfies KubeObject
  await b.client('test').apply(CONFIG_MAP, theirs, { fieldManager: 'somebody' })
  const commit = b.repository.commit(fleet('1', { extra: `config('theirs')` }))
  await b.start()
  await eventually(
    () => versionOf(b, 'test'),
    (v) => v === '1',
  )
  const status = await eventually(
    () => newestPhase(b, commit),
    (s) => s?.clusters?.[0]?.waitingFor?.predicate === 'ApplyFailed',
  )
  expect(status?.clusters?.[0]?.waitingFor?.seen).toContain('.data.version belongs to somebody')
  expect((await b.client('test').get(CONFIG_MAP, { namespace: 'default', name: 'theirs' }))?.['data']).toEqual({
    version: 'mine',
  })
  expect(await versionOf(b, 'prod')).toBeUndefined()
})

test('deletions beyond the guard stop the release in its first stage until a person approves exactly these', async (context) => {
  // Short on one cluster in prune-last.test.ts.
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const many = `if (version === '1') for (const id of ['a', 'b', 'c']) config(id)`
  b.repository.commit(fleet('1', { extra: many }))
  await b.start()
  await eventually(() => versions(b), both('1'))
  const second = b.repository.commit({ 'fleet/version.ts': `export const version: string = '2'\n` })
  const waiting = await eventually(
    () => b.releases().then((all) => all.find((r) => r.spec.commit === second)),
    (r) => r?.status?.clusters?.[0]?.prune !== undefined,
  )
  expect(waiting?.status?.clusters?.[0]).toMatchObject({
    prune: { count: 3, allowed: 1, first: 'ConfigMap/default/a' },
  })
  expect(waiting?.status?.waitingFor?.predicate).toBe('PruneGuard')
  expect(waiting?.status?.conditions?.find((c) => c.type === 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'PruneGuard',
  })
  const digest = waiting?.status?.clusters?.[0]?.prune?.digest ?? ''
  expect(whyLines(waiting as KubeObject, Date.now()).join('\n')).toContain(`digest to approve: ${digest}`)
  expect(await versions(b)).toEqual(['2', '1'])

  for (const cluster of ['test', 'prod']) {
    const asking = await eventually(
      () => b.releases().then((all) => all.find((r) => r.spec.commit === second)),
      (r) => r?.status?.clusters?.some((c) => c.name === cluster && c.prune !== undefined) === true,
    )
    for (const request of requestsOf(asking as Release)) {
      const person = { name: 'ada', groups: [] }
      const wish = { reason: undefined, for: '1h' }
      const wanted = approvalOf({ object: asking as Release, digest: request.digest }, person, wish, Date.now())
      await b.hub.client.create(approval, wanted)
    }
  }
  await eventually(
    () => newestPhase(b, second),
    (s) => s?.phase === 'Succeeded',
  )
  expect(await b.client('prod').get(CONFIG_MAP, { namespace: 'default', name: 'a' })).toBeUndefined()
})

test('F46 what failed before a commit does not stop it; what a stopped commit broke stops the next one until it is reverted', async (context) => {
  onlyInFull(context)
  bench = await syncBench(['test', 'prod'])
  const b = bench
  const set = `new MachineSet(chart, 'workers', { spec: { replicas, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: 'process' } } } } })`
  const files = fleet('1', { extra: set })
  const replicas = (n: number) => ({ 'fleet/replicas.ts': `export const replicas: number = ${n}\n` })
  const first = b.repository.commit({
    ...files,
    'fleet/main.ts': files['fleet/main.ts'].replace(
      `import { version }`,
      `import { replicas } from './replicas.ts'\nimport { version }`,
    ),
    ...replicas(2),
  })
  /** As the controller of the set would. */
  const report = async (cluster: string, ready: number, phase: string) => {
    const found = await eventually(
      () => b.client(cluster).get(machineSet, { name: 'workers' }),
      (s) => s !== undefined,
    )
    const status = { observedGeneration: found?.metadata.generation, phase, readyReplicas: ready, replicas: ready }
    const conditions = [
      {
        type: 'Ready',
        status: phase === 'Complete' ? 'True' : 'False',
        reason: 'Progressing',
        message: `${ready} Ready`,
      },
    ].map((c) => ({ ...c, lastTransitionTime: '2026-01-31T12:00:00Z' }))
    const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', metadata: { name: 'workers' } }
    await b.client(cluster).apply(
      machineSet,
      { ...object, status: { ...status, conditions } },
      {
        fieldManager: 'kubenode-machineset',
        force: true,
        subresource: 'status',
      },
    )
  }
  const succeeds = (commit: string) =>
    eventually(
      () => newestPhase(b, commit),
      (s) => s?.phase === 'Succeeded',
    )
  await b.start()
  await report('test', 2, 'Complete')
  await report('prod', 2, 'Complete')
  await succeeds(first)

  // A machine is lost before the next commit, which has nothing to do with it.
  await report('test', 1, 'Progressing')
  const second = b.repository.commit({ 'fleet/version.ts': `export const version: string = '2'\n` })
  const passed = await succeeds(second)
  expect(passed?.clusters?.[0]).toMatchObject({ name: 'test', phase: 'Healthy', failures: { before: 1, new: 0 } })
  expect(await versions(b)).toEqual(['2', '2'])

  // A commit that breaks the set.
  const bad = b.repository.commit(replicas(3))
  await eventually(
    () => b.client('test').get(machineSet, { name: 'workers' }),
    (s) => s?.spec.replicas === 3,
  )
  await report('test', 0, 'Blocked')
  const stopped = await eventually(
    () => newestPhase(b, bad),
    (s) => s?.phase === 'Paused',
  )
  expect(stopped?.waitingFor?.unblock).toContain('kubenode release retry fleet-')
  // Retried by a user, it fails again; the hold takes effect once.
  const badRelease = (await b.releases()).find((r) => r.spec.commit === bad)?.metadata.name ?? ''
  const target = { kind: 'Release', namespace: SYSTEM_NAMESPACE, name: badRelease } as const
  const wish = { target, effect: 'Retry', reason: 'the disk was full', for: '1h', author: ADMIN } as const
  await b.hub.client.apply(operationalHold, holdFor(wish, Date.now()), { fieldManager: 'kubenode-cli', force: true })
  const retried = await eventually(
    () => newestPhase(b, bad),
    (s) => s?.clusters?.[0]?.attempts === 2 && s.phase === 'Paused',
  )
  expect(retried?.retries?.length).toBe(1)

  // The next commit still has it.
  const third = b.repository.commit({ 'fleet/version.ts': `export const version: string = '3'\n` })
  const carried = await eventually(
    () => newestPhase(b, third),
    (s) => s?.phase === 'Paused',
  )
  expect(carried?.clusters?.[0]?.message).toContain(`release ${badRelease} broke it`)
  expect(await versions(b)).toEqual(['3', '2'])
  const kept = (await b.client('test').list(inventory)).items[0]?.spec.baseline
  expect(kept?.blamed.map((f) => [f.object, f.release])).toEqual([['MachineSet.kubenode.io/workers', badRelease]])

  // Declared again; one machine is still lost, as before.
  b.repository.git('revert', '--no-edit', bad)
  const back = b.repository.git('rev-parse', 'HEAD')
  await eventually(
    () => b.client('test').get(machineSet, { name: 'workers' }),
    (s) => s?.spec.replicas === 2,
  )
  await report('test', 1, 'Progressing')
  await succeeds(back)
  expect(await versions(b)).toEqual(['3', '3'])
})
