// Hollow machines on the embedded server over HTTPS: made by their set through a provider, joined, installed, upgraded within their budget, and kept
// from a version that does not work.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { programUser } from '#api/names.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { noFaults } from '#agent/hollow/faults.ts'
import { type ApiServer, createApiServer } from '#apiserver/api-server.ts'
import { canaryModule } from '#controllers/canary/reconcile.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { recording } from '#test/support/rights/record.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { inFull } from '#test/support/tools/full.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { until } from '../e2e/rollout-replay/cluster.ts'
import { Observer } from '../e2e/rollout-replay/observer.ts'
import { BAD, GOOD } from '#test/support/fleets/rollout-fleet.ts'
import { definition } from '../sim/rollout/fleet.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

/** More than may be down at once, and than a step. */
const MACHINES = inFull(50, 12)
const LIMIT = 10
const SET = 'base'
const POOL = { 'kubenode.io/pool': 'workers' }
const WITHIN_MS = 150_000

const own = { clock: systemClock, random: systemRandom, log: silentLogger }
const stop = new AbortController()
const parts: Part[] = []
const clients: HttpKubeClient[] = []
let api: ApiServer
let admin: HttpKubeClient
const observer = new Observer(LIMIT)

function clientAs(user?: string): HttpKubeClient {
  const { url, ca, credentials } = api
  const { certificate, key } = credentials.admin
  const config = {
    server: url,
    ca: { data: ca },
    clientCertificate: { cert: { data: certificate }, key: { data: key } },
  }
  const client = new HttpKubeClient(user === undefined ? config : { ...config, impersonate: { user } })
  clients.push(client)
  return client
}

async function startControllers(provider: MemoryProvider): Promise<void> {
  const client = clientAs(programUser('controllers'))
  const informers = createInformers({ client, ...own, startSpreadMs: 0 })
  const events = { record: () => undefined, flush: () => Promise.resolve() }
  const metrics = createMetrics()
  const config = {
    cluster: 'test',
    providers: { hollow: provider },
    join: { server: api.url, caData: '', artifactBase: '', trust: { sequence: 0, threshold: 1, keys: [] } },
  }
  const context = { client, informers, ...own, metrics, events, config }
  for (const module of [machineModule, machineSetModule, componentSetModule, canaryModule]) {
    const running = module.setup(context)
    parts.push(...running.controllers, ...(running.parts ?? []))
  }
  informers.start()
  await informers.synced()
  parts.push(await startApprover(clientAs(programUser('approver')), own))
}

async function startDefender(): Promise<void> {
  const client = clientAs(programUser('defender'))
  const informers = createInformers({ client, ...own, startSpreadMs: 0 })
  parts.push(
    ...((await defenderModule({ identity: 'test' }).setup({ client, informers, ...own, metrics: createMetrics() }))
      .parts ?? []),
  )
  informers.start()
  await informers.synced()
}

beforeAll(async () => {
  api = await createApiServer(recording)
  await api.listen()
  admin = clientAs()
  await installAll(admin)
  for (const version of [...GOOD, BAD]) await admin.create(machineComponent, definition(version))
  await admin.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'open' },
    spec: {
      budgets: [{ max: LIMIT, of: 'concurrent', per: 'cluster' }],
      rates: [{ window: '1m', max: 1_000, per: 'cluster' }],
      mode: 'Enforce',
    },
  } as never)
  const faults = {
    ...noFaults,
    behavior: (_: string, __: string, v: string) => (v === BAD ? ('ProbeFails' as const) : ('Works' as const)),
  }
  const fleet = new HollowFleet({ client: clientAs(), ...own, version: '0.0.0', leaseMs: 10_000, faults })
  const provider = new MemoryProvider({ clock: systemClock, name: 'hollow' })
  void provider.events(({ machine, kind }) => {
    if (kind === 'Started') fleet.add(machine, 'boot')
    else if (kind === 'Deleted') void fleet.remove(machine)
  }, stop.signal)
  void fleet.run(stop.signal)
  await startControllers(provider)
  await startDefender()
  for (const part of parts) await part.start(stop.signal)
})

afterAll(async () => {
  stop.abort()
  for (const part of parts.toReversed()) await part.stop(1_000)
  for (const client of clients) client.close()
  await api.close()
})

/** A server accepts unreadable values here: its schema does not check keys of labels in a map. */
const UNREADABLE = { matchLabels: { 'no key!': 'x' } }

async function plantPoison(): Promise<void> {
  const of = (kind: string, name: string, spec: object) => ({
    apiVersion: API_GROUP_VERSION,
    kind,
    metadata: { name },
    spec,
  })
  const components = [{ name: 'beacon', version: '1.0.0' }]
  const rollout = { steps: [1], maxUnavailable: 1, soak: '0s' }
  // Before and after the sound set, in the order of names.
  for (const name of ['a-poison', 'z-poison'])
    await admin.create(
      machineComponentSet,
      of('MachineComponentSet', name, { selector: UNREADABLE, priority: 10, components, rollout }) as never,
    )
  const trial = { selector: UNREADABLE, pick: { count: 1 }, components, duration: '1m' }
  await admin.create(componentCanary, of('ComponentCanary', 'a-poison', trial) as never)
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const target = { kind: 'MachineComponentSet', selector: UNREADABLE }
  const hold = { target, effect: 'Retry', author: ADMIN, reason: 'a test', until }
  await admin.create(operationalHold, of('OperationalHold', 'a-poison', hold) as never)
  await admin.create(machineType, of('Machine', 'a-poison', { channel: 'Agent' }) as never)
}

const machines = async (): Promise<readonly Machine[]> =>
  (await admin.list(machineType)).items.filter((m) => m.spec.provider !== undefined)
/** Undefined until it speaks of what is declared now. */
const status = async () => {
  const set = await admin.get(machineComponentSet, { name: SET })
  return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
}
const declare = (version: string) => {
  const value = { spec: { components: [{ name: 'beacon', version }] } }
  return admin.patch(machineComponentSet, { name: SET }, { type: 'merge', value })
}

test('a set of hollow machines is made, joins and gets its components', async () => {
  await admin.create(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name: SET },
    spec: {
      selector: { matchLabels: POOL },
      components: [{ name: 'beacon', version: '1.0.0' }],
      rollout: { steps: [1, 5, 20], maxUnavailable: LIMIT, soak: '0s' },
    },
  } as never)
  await admin.create(machineSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineSet',
    metadata: { name: 'workers' },
    spec: {
      replicas: MACHINES,
      selector: { matchLabels: POOL },
      template: { metadata: { labels: POOL }, spec: { provider: { name: 'hollow' }, pool: 'workers' } },
    },
  } as never)
  const ready = async () => (await machines()).filter((m) => m.status?.phase === 'Ready').length
  await until('Ready', ready, (n) => n === MACHINES, WITHIN_MS)
  await until('the set to rest', status, (s) => s?.phase === 'Complete' && s.counts?.healthy === MACHINES, WITHIN_MS)
}, 400_000)

test('F18 a new version reaches every machine and never disturbs more than it may', async () => {
  const watching = observer.run(admin, stop.signal)
  watching.catch(() => undefined)
  await declare('1.1.0')
  await until('1.1.0', status, (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES, WITHIN_MS)
  expect((await machines()).map((m) => m.status?.components?.[0]?.version)).toEqual(Array(MACHINES).fill('1.1.0'))
  expect([observer.violations, observer.mostBusy > 0]).toEqual([0, true])
}, 400_000)

test('F18 a version that does not work stops at its first machine, which goes back by itself', async () => {
  await declare(BAD)
  await until('the block', status, (s) => s?.phase === 'Blocked', WITHIN_MS)
  const asked = (await admin.list(operationPermit)).items.filter((p) => p.spec.component?.version === BAD)
  expect(asked.flatMap((p) => p.spec.targets)).toHaveLength(1)
  const running = async () => [...new Set((await machines()).map((m) => m.status?.components?.[0]?.version))]
  await until('the version before', running, (v) => v.join() === '1.1.0', WITHIN_MS)
  await declare('1.1.0')
  await until('rest', status, (s) => s?.phase === 'Complete', WITHIN_MS)
}, 400_000)

test('F21 unreadable objects stop neither the set beside them nor its machines, and report what is wrong with them', async () => {
  await plantPoison()
  await declare('1.2.0')
  await until('1.2.0', status, (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES, WITHIN_MS)
  expect(observer.violations).toBe(0)
  const stalled = async () => {
    const [set, other, canary, machine] = await Promise.all([
      admin.get(machineComponentSet, { name: 'a-poison' }),
      admin.get(machineComponentSet, { name: 'z-poison' }),
      admin.get(componentCanary, { name: 'a-poison' }),
      admin.get(machineType, { name: 'a-poison' }),
    ])
    return [set, other, canary, machine].map(
      (o) => o?.status?.conditions?.find((c) => c.type === 'Stalled' && c.status === 'True')?.reason,
    )
  }
  const all = Array(4).fill('InvalidSpec').join()
  await until('what is wrong', stalled, (reasons) => reasons.join() === all, WITHIN_MS)
}, 400_000)
