// F45 edits of what git owns, on the embedded server over HTTPS with controllers, Defender and passes of sync: an edit changes no machine before it is put back,
// a hold lets exactly that edit act, and it loses its effect with the hold.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { programUser } from '#api/names.ts'
import { nodeType } from '#agent/node/types.ts'
import { noFaults } from '#agent/hollow/faults.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { type ApiServer, createApiServer } from '#apiserver/api-server.ts'
import { allowHold, checkDigest, findEdit, putBack } from '#cli/commands/rollout/edit.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { recording } from '#test/support/rights/record.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { connectTo } from '#delivery/connection.ts'
import { applyToCluster } from '#sync/cluster/apply.ts'
import { refOf } from '#delivery/object-ref.ts'
import { until } from '../e2e/rollout-replay/cluster.ts'
import { GOOD } from '#test/support/fleets/rollout-fleet.ts'
import { definition } from '../sim/rollout/fleet.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

const MACHINES = 6
const POOL = { 'kubenode.io/pool': 'workers' }
const WITHIN_MS = 100_000
const PEOPLE = { fieldManager: 'kubectl-edit' }

const own = { clock: systemClock, random: systemRandom, log: silentLogger }
const stop = new AbortController()
const parts: Part[] = []
const clients: HttpKubeClient[] = []
/** Every version that any machine was ever ordered to run. */
const told = new Set<string>()
let api: ApiServer
let admin: HttpKubeClient

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

const informersOf = (client: HttpKubeClient) => createInformers({ client, ...own, startSpreadMs: 0 })

async function startControllers(provider: MemoryProvider): Promise<void> {
  const client = clientAs(programUser('controllers'))
  const informers = informersOf(client)
  const events = { record: () => undefined, flush: () => Promise.resolve() }
  const config = {
    cluster: 'test',
    providers: { hollow: provider },
    join: { server: api.url, caData: '', artifactBase: '', trust: { sequence: 0, threshold: 1, keys: [] } },
  }
  const context = { client, informers, ...own, metrics: createMetrics(), events, config }
  for (const module of [machineModule, machineSetModule, componentSetModule]) {
    const running = module.setup(context)
    parts.push(...running.controllers, ...(running.parts ?? []))
  }
  informers.start()
  await informers.synced()
  parts.push(await startApprover(clientAs(programUser('approver')), own))
}

async function startDefender(): Promise<void> {
  const client = clientAs(programUser('defender'))
  const informers = informersOf(client)
  const role = defenderModule({ identity: 'test' })
  parts.push(...((await role.setup({ client, informers, ...own, metrics: createMetrics() })).parts ?? []))
  informers.start()
  await informers.synced()
}

async function recordVersions(): Promise<void> {
  const informers = informersOf(clientAs())
  informers.of(machineType).onChange((_, now) => {
    for (const { version } of now?.spec.components ?? []) told.add(version)
  })
  informers.start()
  await informers.synced()
  parts.push({ name: 'recorder', start: () => undefined, stop: () => informers.stop() })
}

const object = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name },
  spec,
})

const DECLARED: readonly KubeObject[] = [
  object('DefenderPolicy', 'open', {
    budgets: [{ max: 2, of: 'concurrent', per: 'cluster' }],
    rates: [{ window: '1m', max: 1_000, per: 'cluster' }],
    mode: 'Enforce',
  }),
  object('MachineComponentSet', 'base', {
    selector: { matchLabels: POOL },
    components: [{ name: 'beacon', version: '1.0.0' }],
    rollout: { steps: [2], maxUnavailable: 2, soak: '0s' },
  }),
  object('MachineSet', 'workers', {
    replicas: MACHINES,
    selector: { matchLabels: POOL },
    template: { metadata: { labels: POOL }, spec: { provider: { name: 'hollow' }, pool: 'workers' } },
  }),
]

/** One pass of sync over the cluster, with its own rights. */
async function syncPass() {
  const client = clientAs(programUser('sync'))
  const report = await applyToCluster(
    connectTo('test', client, () => Date.now()),
    {
      target: { objects: DECLARED.map((o) => ({ ref: refOf(o), object: o, digest: sha256OfJson(o) })), rejected: [] },
      owner: { source: 'kubenode-system/fleet', track: 'main', target: 'Member' },
      mark: { commit: 'c'.repeat(40), release: 'main-c', appliedAt: new Date().toISOString() },
      config: { commit: 'c'.repeat(40), prune: { enabled: true, guard: '10%' }, drift: 'Correct' },
      elsewhere: new Set(),
      approved: new Set(),
      needs: { machines: false, repairs: false },
    },
  )
  if (report.answer.kind !== 'Seen') throw new Error(report.answer.message)
  expect(report.answer.failures).toEqual([])
  return report
}

const machines = async (): Promise<readonly Machine[]> =>
  (await admin.list(machineType)).items.filter((m) => m.metadata.deletionTimestamp === undefined)
const versions = async () => (await machines()).map((m) => m.status?.components?.[0]?.version).join()
const all = (version: string) => Array<string>(MACHINES).fill(version).join()
const set = () => admin.get(machineComponentSet, { name: 'base' })
const status = async () => {
  const found = await set()
  return found?.status?.observedGeneration === found?.metadata.generation ? found?.status : undefined
}
const waitsFor = async () => (await status())?.waitingFor?.predicate
const edit = (version: string) =>
  admin.patch(
    machineComponentSet,
    { name: 'base' },
    { type: 'merge', value: { spec: { components: [{ name: 'beacon', version }] } } },
    PEOPLE,
  )

beforeAll(async () => {
  api = await createApiServer(recording)
  await api.listen()
  admin = clientAs()
  await installAll(admin)
  for (const version of GOOD) await admin.create(machineComponent, definition(version))
  const fleet = new HollowFleet({ client: clientAs(), ...own, version: '0.0.0', leaseMs: 10_000, faults: noFaults })
  const provider = new MemoryProvider({ clock: systemClock, name: 'hollow' })
  void provider.events(({ machine, kind }) => {
    if (kind === 'Started') fleet.add(machine, 'boot')
    else if (kind === 'Deleted') void fleet.remove(machine)
  }, stop.signal)
  void fleet.run(stop.signal)
  await startControllers(provider)
  await startDefender()
  await recordVersions()
  for (const part of parts) await part.start(stop.signal)
  await syncPass()
  await until('all machines', versions, (v) => v === all('1.0.0'), WITHIN_MS)
  await until('rest', status, (s) => s?.phase === 'Complete', WITHIN_MS)
})

afterAll(async () => {
  stop.abort()
  for (const part of parts.toReversed()) await part.stop(1_000)
  for (const client of clients) client.close()
  await api.close()
})

test('an edited version reaches no machine, the set says so with both commands, and the next pass puts it back', async () => {
  await edit('1.1.0')
  await until('the edit to be reported', waitsFor, (p) => p === 'UncommittedChange', WITHIN_MS)
  const { waitingFor, conditions, phase } = (await status()) ?? {}
  expect(waitingFor?.unblock).toMatch(
    /^kubenode put-back set\/base; to allow the edit, run kubenode allow-edit set\/base --digest [0-9a-f]{16} /,
  )
  expect(conditions?.find((c) => c.type === 'Ready')).toMatchObject({ status: 'False', reason: 'UncommittedChange' })
  expect(phase).toBe('Complete')
  await syncPass()
  expect((await set())?.spec.components).toEqual([{ name: 'beacon', version: '1.0.0' }])
  await until('rest', status, (s) => s?.waitingFor === undefined && s?.phase === 'Complete', WITHIN_MS)
  expect([...told]).toEqual(['1.0.0'])
})

test('a person puts an edit back without sync, and replicas follow scale and no edit', async () => {
  await edit('1.1.0')
  await until('the edit to be reported', waitsFor, (p) => p === 'UncommittedChange', WITHIN_MS)
  await putBack(admin, 'set/base', Date.now())
  await until('rest', status, (s) => s?.waitingFor === undefined && s?.phase === 'Complete', WITHIN_MS)
  const key = { name: 'workers' }
  const wait = async () => (await admin.get(machineSet, key))?.status?.waitingFor?.predicate
  await admin.patch(machineSet, key, { type: 'merge', value: { spec: { replicas: MACHINES + 5 } } }, PEOPLE)
  await until('the edit to be reported', wait, (p) => p === 'UncommittedChange', WITHIN_MS)
  expect(await machines()).toHaveLength(MACHINES)
  // One that is made while the template is edited is made as git declares.
  const value = { spec: { template: { spec: { zone: 'edited' } } } }
  await admin.patch(machineSet, key, { type: 'merge', value }, PEOPLE)
  const [first] = await machines()
  await admin.delete(machineType, { name: first?.metadata.name ?? '' })
  const others = async () => (await machines()).filter((m) => m.metadata.uid !== first?.metadata.uid)
  const made = await until('another machine', others, (m) => m.length === MACHINES, WITHIN_MS)
  expect(new Set(made.map((m) => m.spec.zone))).toEqual(new Set([undefined]))
  await putBack(admin, 'machineset/workers', Date.now())
  await admin.scale(machineSet, key, MACHINES + 1, { fieldManager: 'kubectl' })
  await until('one more machine', machines, (m) => m.length === MACHINES + 1, WITHIN_MS)
  await until('no edit', wait, (p) => p !== 'UncommittedChange', WITHIN_MS)
  await syncPass()
  const ready = async () => (await machines()).map((m) => m.status?.components?.[0]?.version).join()
  await until('as many as git declares', ready, (v) => v === all('1.0.0'), WITHIN_MS)
  expect([...told]).toEqual(['1.0.0'])
}, 240_000)

test('a hold lets exactly the edit act, sync leaves it alone, and with the hold it loses its effect', async () => {
  await edit('1.1.0')
  await until('the edit to be reported', waitsFor, (p) => p === 'UncommittedChange', WITHIN_MS)
  const digest = (await findEdit(admin, 'set/base', Date.now()))?.edit.digest ?? ''
  const wish = { what: 'set/base', digest, reason: 'git is away', for: '1h', author: ADMIN }
  await checkDigest(admin, wish, Date.now())
  const hold = await placeHold(admin, allowHold(wish, Date.now()))
  await until('the edited version', versions, (v) => v === all('1.1.0'), WITHIN_MS)
  expect((await syncPass()).plan?.operations.map((o) => o.reason)).toEqual(['EditAllowed'])
  expect(await versions()).toBe(all('1.1.0'))
  await edit('1.2.0')
  await until('another edit to be reported', waitsFor, (p) => p === 'UncommittedChange', WITHIN_MS)
  await admin.delete(operationalHold, { name: hold.metadata.name ?? '' })
  await syncPass()
  await until('the declared version', versions, (v) => v === all('1.0.0'), WITHIN_MS)
  expect(told.has('1.2.0')).toBe(false)
}, 240_000)

test('an edited or deleted policy loosens nothing before it is put back', async () => {
  const key = { name: 'open' }
  await admin.patch(defenderPolicy, key, { type: 'merge', value: { spec: { mode: 'Audit' } } }, PEOPLE)
  const conditions = async () => (await admin.get(defenderPolicy, key))?.status?.conditions ?? []
  const seen = await until(
    'the edit to be reported',
    conditions,
    (all) => all.some((c) => c.type === 'UncommittedChange'),
    WITHIN_MS,
  )
  expect(seen.find((c) => c.type === 'Enforced')?.status).toBe('True')
  await syncPass()
  const isOver = (all: typeof seen) => !all.some((c) => c.type === 'UncommittedChange')
  await until('the policy as declared', conditions, isOver, WITHIN_MS)
})

test('a MachineSet that is deleted keeps its machines, and adopts them once sync has created it again', async () => {
  const key = { name: 'workers' }
  const names = async () => new Set((await machines()).map((m) => m.metadata.uid))
  const before = await names()
  const old = (await admin.get(machineSet, key))?.metadata.uid
  await admin.delete(machineSet, key)
  const declared = async () => (await admin.get(machineSet, key))?.status?.waitingFor?.seen ?? ''
  await until('the set to say why it stays', declared, (text) => text.includes('git declares it'), WITHIN_MS)
  await syncPass()
  await until(
    'the deletion',
    () => admin.get(machineSet, key),
    (s) => s === undefined,
    WITHIN_MS,
  )
  await syncPass()
  const owned = async () => {
    const uid = (await admin.get(machineSet, key))?.metadata.uid
    const mine = (await machines()).filter((m) => m.metadata.ownerReferences?.some((o) => o.uid === uid))
    return uid !== old && mine.length === before.size
  }
  await until('the machines in the new set', owned, (isSo) => isSo, WITHIN_MS)
  expect(await names()).toEqual(before)
})

test('the deleted Nodes of machines at work come back, and that of a machine that is being deleted does not', async () => {
  const nodes = async () => new Map((await admin.list(nodeType)).items.map((n) => [n.metadata.name, n.metadata.uid]))
  const before = await nodes()
  const [going, ...stay] = (await machines()).map((m) => m.metadata.name ?? '')
  if (going === undefined) throw new Error('no machine')
  // A foreign finalizer keeps the Machine while it is deleted.
  const mine = (finalizers: readonly string[]) =>
    admin.patch(machineType, { name: going }, { type: 'merge', value: { metadata: { finalizers } } as never })
  const own = (await admin.get(machineType, { name: going }))?.metadata.finalizers ?? []
  await mine([...own, 'test.example/stay'])
  await admin.delete(machineType, { name: going })
  for (const name of [going, ...stay.slice(0, 2)])
    await admin.delete(nodeType, { name }).catch((error: unknown) => expect(String(error)).toMatch(/not found/))
  const back = (now: Map<string | undefined, string | undefined>) =>
    stay.every((name) => now.has(name)) && stay.slice(0, 2).every((name) => now.get(name) !== before.get(name))
  const after = await until('the Nodes', nodes, back, WITHIN_MS)
  const ready = async () => (await admin.get(machineType, { name: stay[0] ?? '' }))?.status?.phase
  await until('the machine', ready, (phase) => phase === 'Ready', WITHIN_MS)
  for (const seen of [after, await nodes()]) expect([undefined, before.get(going)]).toContain(seen.get(going))
  await mine([])
})
