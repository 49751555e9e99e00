// The brake over all clusters from end to end: a version that fails in two clusters is stopped in the third, by its Release and by its Defender, until a person
// lifts the stop. Another version waits for a turn only.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { approvalOf } from '#cli/commands/rollout/approval.ts'
import { run } from '#cli/program.ts'
import { defenderModule } from '#defender/role.ts'
import { requestsOf } from '#explain/approval-requests.ts'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { requestPermit } from '#permits/permits.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { CONFIG_MAP, eventually, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { condition } from '#test/support/fleets/defender-objects.ts'

const NAMES = ['one', 'two', 'three'] as const

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const fleet = (note: string) => ({
  'fleet/main.ts': `
import { App, ApiObject } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, ReleasePipeline } from 'kubenode/constructs'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: '${SYSTEM_NAMESPACE}' })
new ReleasePipeline(hub, 'standard', { spec: { stages: [
  { name: 'third', clusters: { names: ['three'] }, minSuccessTime: '0s', before: [{ name: 'board', approval: { from: ['ada'] } }] },
  { name: 'others', clusters: { names: ['one', 'two'] }, minSuccessTime: '0s' },
] } })
for (const name of ${JSON.stringify(NAMES)}) {
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: 'cluster-' + name, key: 'kubeconfig' } } })
  new ApiObject(new ClusterChart(app, name), 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { note: '${note}' } })
}
app.synth()
`,
})

async function approve(b: SyncBench, commit: string): Promise<void> {
  const waiting = await eventually(
    async () => (await b.releases()).find((r) => r.spec.commit === commit),
    (r) => r?.status?.waitingFor?.seen?.startsWith('board: approved by 0 of 1') === true,
  )
  if (waiting === undefined) throw new Error('no release')
  const [request] = requestsOf(waiting)
  const wish = { reason: 'read', for: '1h' }
  const digest = request?.digest ?? ''
  const made = approvalOf({ object: waiting, digest }, { name: 'ada', groups: [] }, wish, Date.now())
  await b.hub.client.create(approval, made)
}

/** As the controllers of a cluster report a version that failed on its first machines. */
async function failIn(client: KubeClient, commit: string): Promise<void> {
  const spec = { selector: { matchLabels: { pool: 'a' } }, components: [{ name: 'beacon', version: '1.1.0' }] }
  const metadata = { name: 'base', annotations: { [ANNOTATIONS.commit]: commit } }
  const made = await client.create(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: machineComponentSet.kind,
    metadata,
    spec,
  } as never)
  const since = '2026-01-31T12:00:00Z'
  const blocked = [{ revision: 'base-1', component: 'beacon', since, reason: 'it exits' }]
  const status = { observedGeneration: made.metadata.generation, revisions: { update: 'base-1', blocked } }
  await client.patch(
    machineComponentSet,
    { name: 'base' },
    { type: 'merge', value: { status } as never },
    { subresource: 'status' },
  )
}

async function startDefender(client: KubeClient): Promise<void> {
  const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const { parts = [] } = await defenderModule({ identity: 'test', cluster: 'three' }).setup({
    ...own,
    informers,
    metrics: createMetrics(),
  })
  informers.start()
  await informers.synced()
  for (const part of parts) await part.start(new AbortController().signal)
  stops.unshift(async () => {
    for (const part of parts) await part.stop(0)
    await informers.stop()
  })
}

async function newMachine(client: KubeClient): Promise<string> {
  const object = { apiVersion: API_GROUP_VERSION, kind: machine.kind, metadata: { name: 'm-0' }, spec: {} }
  const made = await client.create(machine, object as never)
  const status = { phase: 'Ready', conditions: [condition('Ready', 'True'), condition('AgentReachable', 'True')] }
  await client.patch(machine, { name: 'm-0' }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
  return made.metadata.uid ?? ''
}

async function askToSwitch(client: KubeClient, name: string, uid: string, version: string): Promise<void> {
  const outcome = await requestPermit({ client, fieldManager: 'kubenode-componentset' }, name, {
    operations: ['SwitchComponent'],
    component: { name: 'beacon', version },
    targets: [{ kind: 'Machine', name: 'm-0', uid }],
    requester: { manager: 'kubenode-componentset', kind: machineComponentSet.kind, name: 'base' },
    reason: 'a test',
    recovery: false,
    leaseSeconds: 120,
  })
  expect(outcome.kind).toBe('Applied')
}

async function kubenode(b: SyncBench, ...argv: readonly string[]): Promise<string> {
  const file = join(b.repository.dir, '.git/admin.kubeconfig')
  writeFileSync(file, b.hub.server.adminKubeconfig(), { mode: 0o600 })
  let out = ''
  const io = { out: (t: string) => void (out += t), err: () => undefined, cwd: '.', env: {}, isTerminal: false }
  expect(await run([...argv, '--kubeconfig', file], io)).toBe(0)
  return out
}

test('a version that failed in two clusters is stopped in the third, by its Release and its Defender, until it is lifted', async () => {
  const b = await syncBench(NAMES)
  stops.push(() => b.close())
  await b.hub.client.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: defenderPolicy.kind,
    metadata: { name: 'fleet' },
    spec: { operations: ['ChangeControlPlane'], fleet: { maxChanging: 3, failedClusters: 2 } },
  } as never)
  const third = b.client('three')
  const noteOf = async (): Promise<string | undefined> => {
    const found = await third.get(CONFIG_MAP, { namespace: 'default', name: 'settings' })
    return (found?.['data'] as { note?: string } | undefined)?.note
  }
  const commit = b.repository.commit(fleet('1'))
  // With a limit, sync reads every cluster before it begins anything.
  await failIn(b.client('one'), commit)
  await failIn(b.client('two'), commit)
  await b.start()
  const ofThird = async () =>
    (await b.releases()).find((r) => r.spec.commit === commit)?.status?.clusters?.find((c) => c.name === 'three')
  const brakeIn = async (client: KubeClient) => (await client.get(fleetBrake, { name: 'fleet' }))?.spec
  const stopped = { kind: 'Component', name: 'beacon', version: '1.1.0', count: 2, commits: [commit] }
  const onHub = await eventually(
    () => brakeIn(b.hub.client),
    (s) => (s?.stops ?? []).length > 0,
  )
  expect(onHub?.stops).toMatchObject([{ ...stopped, seen: 'failed in 2 clusters (limit 2)' }])
  const copy = await eventually(
    () => brakeIn(third),
    (s) => (s?.stops ?? []).length > 0,
  )
  expect(copy).toMatchObject({ cluster: `${SYSTEM_NAMESPACE}/three`, stops: [stopped] })

  // The approval opens the stage, and the stop keeps the cluster from being begun.
  await approve(b, commit)
  const held = await eventually(ofThird, (c) => c?.waitingFor?.predicate === 'FleetStopped')
  expect(held).toMatchObject({ phase: 'Waiting', waitingFor: { seen: 'beacon 1.1.0 failed in 2 clusters (limit 2)' } })
  expect(await noteOf()).toBeUndefined()

  // Nor does the Defender there let a set continue with it. Another version waits for a turn only.
  const uid = await newMachine(third)
  await startDefender(third)
  const verdictOn = async (name: string) => {
    const found = await eventually(
      () => third.get(operationPermit, { name }),
      (p) => p?.status?.verdicts !== undefined,
    )
    const [first] = found?.status?.verdicts ?? []
    return [found?.status?.phase, first?.gate, first?.seen]
  }
  await askToSwitch(third, 'same', uid, '1.1.0')
  await askToSwitch(third, 'other', uid, '1.2.0')
  expect(await verdictOn('same')).toEqual(['Requested', 'FleetStop', 'beacon 1.1.0 failed in 2 clusters (limit 2)'])
  expect(await verdictOn('other')).toEqual([
    'Requested',
    'FleetTurn',
    'the hub has not given this cluster its turn yet',
  ])

  expect(await kubenode(b, 'brake', 'status')).toContain('beacon@1.1.0')
  expect(await kubenode(b, 'brake', 'lift', 'beacon@1.1.0', '--reason', 'the registry was down')).toContain(
    'lifting beacon@1.1.0 in all clusters',
  )
  await eventually(noteOf, (note) => note === '1')
  await eventually(
    () => brakeIn(third),
    (s) => s?.stops === undefined || s.stops.length === 0,
  )
  await eventually(
    async () => (await third.get(operationPermit, { name: 'same' }))?.status?.verdicts?.[0]?.gate,
    (gate) => gate !== 'FleetStop',
  )
}, 300_000)
