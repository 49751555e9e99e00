// An existing node on an embedded server over HTTPS, with the rights and admission policies that are shipped: observed, joined with its own token,
// lost and back again, and handed back unchanged. The minute of silence after which it is Lost passes for the controllers while the test waits for it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newKey, requestCertificate } from '#agent/join/request.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, JOIN_NAMESPACE, SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type Node, nodeType, podType } from '#nodes/objects.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { joinTicket } from '../../src/agent/join/join-command.ts'
import { runImport } from '../../src/install/machines/run-import.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { grantedAt } from '#test/support/permits/granted.ts'

const NODE = 'db-1'
/** The taint of the platform. */
const DEDICATED = { key: 'dedicated', value: 'db', effect: 'NoSchedule' }
/** Often enough that it is heard again at once. */
const BEAT_MS = 250

/** The clock of the controllers. */
const clock = shiftedClock()

let server: RunningServer
let admin: KubeClient
const stops: (() => unknown)[] = []
const beating = new Set<string>()

const connection = () => ({ server: server.url, ca: { data: server.ca } })
const asAdmin = () => ({
  ...connection(),
  clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
})
const as = (user: string): KubeClient =>
  new HttpKubeClient({ ...asAdmin(), impersonate: { user, groups: ['system:authenticated'] } })

async function startControllers(): Promise<void> {
  const client = as('kubenode:controllers')
  const tools = { clock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
  const provider = new StaticProvider({ notes: notesInMemory(), clock })
  const context: ControllerContext = {
    client,
    informers,
    ...tools,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: { static: provider },
      join: {
        server: server.url,
        caData: Buffer.from(server.ca).toString('base64'),
        artifactBase: '',
        trust: { sequence: 1, threshold: 1, keys: [] },
      },
    },
  }
  for (const c of machineModule.setup(context).controllers) {
    c.start()
    stops.unshift(() => c.stop(1_000))
  }
  informers.start()
  await informers.synced()
  stops.push(() => informers.stop())
  const approver = await startApprover(as('kubenode:approver'), tools)
  stops.unshift(() => approver.stop(1_000))
}

/** Renews a Lease while its name is in the set. */
function keepBeating(client: KubeClient, namespace: string, name: string): void {
  beating.add(name)
  const timer = setInterval(() => {
    if (!beating.has(name)) return
    const value = {
      spec: { holderIdentity: NODE, leaseDurationSeconds: 40, renewTime: microTimestamp(systemClock.now()) },
    }
    void client.patch(leaseType, { namespace, name }, { type: 'merge', value }).catch(() => undefined)
  }, BEAT_MS)
  stops.unshift(() => clearInterval(timer))
}

const leaseOf = (namespace: string, name: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace, name },
  spec: { holderIdentity: NODE, leaseDurationSeconds: 40, renewTime: microTimestamp(systemClock.now()) },
})

/** A Node with a kubelet, and a pod on it, as a cluster has that we never saw before. */
async function existingNode(): Promise<void> {
  const labels = { 'kubernetes.io/arch': 'amd64', [LABELS.zone]: 'a' }
  await admin.create(nodeType, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE, labels },
    spec: { taints: [DEDICATED] },
  })
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastTransitionTime: timestamp(0) }
  const nodeInfo = { kubeletVersion: 'v1.34.2', containerRuntimeVersion: 'containerd://2.1.4', bootID: 'boot-1' }
  const value = { status: { conditions: [ready], nodeInfo } }
  await admin.patch(nodeType, { name: NODE }, { type: 'merge', value }, { subresource: 'status' })
  await admin.create(leaseType, leaseOf('kube-node-lease', NODE))
  keepBeating(admin, 'kube-node-lease', NODE)
  const pod = { name: 'web', namespace: 'default' }
  const spec = { nodeName: NODE, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
  await admin.create(podType, { apiVersion: 'v1', kind: 'Pod', metadata: pod, spec })
}

const machine = () => admin.get(machineType, { name: NODE })
const node = () => admin.get(nodeType, { name: NODE })

/** A small part of what makes a machine Lost, so that the controllers keep up however slow they are. */
const SILENCE_STEP_MS = 5_000

/** Seconds on an idle machine; a loaded one may take ten times that. */
const PATIENCE_MS = 150_000

async function until<T>(what: string, read: () => Promise<T | undefined | false>): Promise<T> {
  for (const began = systemClock.monotonic(); systemClock.monotonic() - began < PATIENCE_MS;) {
    const value = await read()
    if (value !== undefined && value !== false) return value
    await systemClock.sleep(50)
  }
  throw new Error(`never: ${what}; the machine is ${JSON.stringify((await machine())?.status)}`)
}
const untilMachine = (what: string, holds: (m: Machine) => boolean | undefined): Promise<Machine> =>
  until(what, async () => {
    const m = await machine()
    return m !== undefined && holds(m) === true && m
  })

const secrets = coreKind('Secret')

/** The token comes before the rest of the line: until then the command says that it is being prepared. */
const ticketOf = (waiting: Machine) =>
  until('a join token', async () => {
    const { items } = await admin.list(secrets, { namespace: JOIN_NAMESPACE, labelSelector: LABELS.joinToken })
    try {
      return joinTicket(waiting, items, systemClock.now())
    } catch (e) {
      if (e instanceof Error && e.message.startsWith('KN1360')) return undefined
      throw e
    }
  })

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient(asAdmin())
  await installAll(admin)
  await existingNode()
  await startControllers()
})

afterAll(async () => {
  for (const stop of stops) await stop()
  await server?.stop()
})

test('an existing node is observed without a write to it, by an import that can be run again', async () => {
  const before = await node()
  const said: string[] = []
  const io = { out: (s: string) => void said.push(s), err: (s: string) => void said.push(s) }
  const wish = { client: admin, names: [NODE] }
  await runImport(wish, io as Parameters<typeof runImport>[1])
  await runImport(wish, io as Parameters<typeof runImport>[1])
  expect(said.filter((s) => s.startsWith(NODE))).toEqual([
    `${NODE}: machine/${NODE} observes it\n`,
    `${NODE}: machine/${NODE} observes it\n`,
  ])
  const seen = await untilMachine('mirrored', (m) => m.status?.phase === 'Ready')
  expect(seen.spec).toMatchObject({ channel: 'Observe', zone: 'a' })
  expect(seen.status?.components).toMatchObject([
    { name: 'containerd', version: '2.1.4' },
    { name: 'kubelet', version: '1.34.2' },
  ])
  // The server itself may write meanwhile: on a slow machine it finds the kubelet silent.
  const after = await node()
  const ours = new Set<string | undefined>(Object.values(FIELD_MANAGERS))
  expect(after?.metadata.managedFields?.filter(({ manager }) => ours.has(manager))).toEqual([])
  expect([after?.metadata.labels, after?.metadata.annotations]).toEqual([
    before?.metadata.labels,
    before?.metadata.annotations,
  ])
})

let agent: KubeClient

test('it is managed once its spec says so: its join command leads to a certificate of its own, and its agent to Ready', async () => {
  await admin.patch(
    machineType,
    { name: NODE },
    { type: 'merge', value: { spec: { channel: 'Agent', labels: { mine: 'yes' } } } },
  )
  const waiting = await untilMachine('waits for its command', (m) => m.status?.waitingFor?.predicate === 'AgentJoined')
  const { bundle } = await ticketOf(waiting)
  const ca = { data: Buffer.from(bundle.caData, 'base64').toString() }
  const bootstrap = new HttpKubeClient({ server: bundle.server, ca, token: { data: bundle.token } })
  const key = await newKey()
  const deps = { client: bootstrap, clock: systemClock, signal: AbortSignal.timeout(PATIENCE_MS) }
  const certificate = await requestCertificate(
    deps,
    { machine: NODE, node: NODE, uid: waiting.metadata.uid ?? '' },
    key,
  )
  bootstrap.close()
  agent = new HttpKubeClient({
    ...connection(),
    clientCertificate: { cert: { data: certificate }, key: { data: key } },
  })
  const { metadata, ...lease } = leaseOf(SYSTEM_NAMESPACE, agentLeaseName(NODE))
  const annotations = { [ANNOTATIONS.machineUid]: waiting.metadata.uid ?? '' }
  await agent.create(leaseType, { ...lease, metadata: { ...metadata, annotations } })
  keepBeating(agent, SYSTEM_NAMESPACE, agentLeaseName(NODE))
  const status = { agent: { version: '0.1.0' }, bootID: 'boot-1' }
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: NODE }, status }
  await agent.apply(machineType, object, { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' })
  await untilMachine(
    'Ready',
    (m) => m.status?.phase === 'Ready' && m.status.conditions?.some((c) => c.type === 'Joined' && c.status === 'True'),
  )
  const labelled = await until('labelled', async () => {
    const n = await node()
    return n?.metadata.labels?.['mine'] === 'yes' && n
  })
  expect(oursOn(labelled)).toEqual([])
  expect(labelled.spec?.taints).toContainEqual(DEDICATED)
  await until('the token is deleted', async () => {
    const left = await admin.list(secrets, { namespace: 'kube-system', labelSelector: LABELS.joinToken })
    return left.items.length === 0
  })
})

test('it is Lost once agent and kubelet are both silent, and back when they are heard', async () => {
  beating.clear()
  const lost = await untilMachine('Lost', (m) => {
    clock.shift(SILENCE_STEP_MS)
    return m.status?.phase === 'Lost'
  })
  expect(lost.status?.conditions?.find((c) => c.type === 'AgentReachable')?.status).toBe('False')
  beating.add(NODE).add(agentLeaseName(NODE))
  await untilMachine(
    'back',
    (m) => m.status?.phase === 'Ready' && m.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
  )
})

test('it is handed back as it was under a permit when its machine is deleted, and not emptied, since nothing restarts', async () => {
  await admin.delete(machineType, { name: NODE })
  const permit = await until('asks', async () => (await admin.list(operationPermit)).items[0])
  await systemClock.sleep(500)
  expect(await admin.get(podType, { name: 'web', namespace: 'default' })).toBeDefined()
  await grant(permit)
  await untilMachine('the order to leave', (m) => m.spec.leaving === true)
  const status = { agent: { version: '0.1.0', phase: 'Left' }, bootID: 'boot-1' }
  const left = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: NODE }, status }
  await admin.apply(machineType, left, { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' })
  await until('gone', async () => (await machine()) === undefined)
  expect(await admin.get(podType, { name: 'web', namespace: 'default' })).toBeDefined()
  const after = await node()
  expect(after?.metadata.labels).toEqual({ 'kubernetes.io/arch': 'amd64', [LABELS.zone]: 'a' })
  expect(oursOn(after)).toEqual([])
  expect(await admin.get(leaseType, { namespace: 'kube-node-lease', name: NODE })).toBeDefined()
})

test('it goes without a permit when its machine is deleted before an agent joined, and the join command that was printed joins nothing', async () => {
  const before = await node()
  expect((await runOneImport()).failed).toBe(0)
  await admin.patch(machineType, { name: NODE }, { type: 'merge', value: { spec: MANAGED } })
  const waiting = await untilMachine('waits for its command', (m) => m.status?.waitingFor?.predicate === 'AgentJoined')
  const { bundle } = await ticketOf(waiting)
  const permits = (await admin.list(operationPermit)).items.length
  await admin.delete(machineType, { name: NODE })
  await until('gone', async () => (await machine()) === undefined)
  expect((await admin.list(operationPermit)).items.length).toBe(permits)
  const after = await node()
  expect(aboutHost(after)).toEqual(aboutHost(before))
  const ca = { data: Buffer.from(bundle.caData, 'base64').toString() }
  const late = new HttpKubeClient({ server: bundle.server, ca, token: { data: bundle.token } })
  await until('the token is refused', () => late.list(machineType).then(() => false, isUnauthorized))
  late.close()
})

test('deleted while its agent waits for its certificate, it is handed back by that agent, which still gets its answer', async () => {
  expect((await runOneImport()).failed).toBe(0)
  await admin.patch(machineType, { name: NODE }, { type: 'merge', value: { spec: MANAGED } })
  const waiting = await untilMachine('waits for its command', (m) => m.status?.waitingFor?.predicate === 'AgentJoined')
  const { bundle } = await ticketOf(waiting)
  const ca = { data: Buffer.from(bundle.caData, 'base64').toString() }
  const bootstrap = new HttpKubeClient({ server: bundle.server, ca, token: { data: bundle.token } })
  const before = new Set((await admin.list(operationPermit)).items.map((p) => p.metadata.name))
  /** Everything happens between the agent's question and the first time that it reads the answer. */
  let looks = 0
  const slow: Parameters<typeof requestCertificate>[0]['client'] = {
    create: (...given) => bootstrap.create(...given),
    get: async (...given) => {
      if (looks++ === 0) {
        await untilMachine('its key is on record', (m) => recordedKey(m) !== undefined)
        await admin.delete(machineType, { name: NODE })
        await grant(
          await until('asks', async () =>
            (await admin.list(operationPermit)).items.find((p) => !before.has(p.metadata.name)),
          ),
        )
        await untilMachine('the order to leave', (m) => m.spec.leaving === true)
      }
      return bootstrap.get(...given)
    },
  }
  const key = await newKey()
  const deps = { client: slow, clock: systemClock, signal: AbortSignal.timeout(PATIENCE_MS) }
  const certificate = await requestCertificate(
    deps,
    { machine: NODE, node: NODE, uid: waiting.metadata.uid ?? '' },
    key,
  )
  bootstrap.close()
  agent = new HttpKubeClient({
    ...connection(),
    clientCertificate: { cert: { data: certificate }, key: { data: key } },
  })
  const status = { agent: { version: '0.1.0', phase: 'Left' }, bootID: 'boot-1' }
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: NODE }, status }
  await agent.apply(machineType, object, { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' })
  await until('gone', async () => (await machine()) === undefined)
})

const MANAGED = { channel: 'Agent', provider: { name: 'static' }, labels: { mine: 'yes' } }

async function runOneImport() {
  const io = { out: () => undefined, err: () => undefined }
  return runImport({ client: admin, names: [NODE] }, io as unknown as Parameters<typeof runImport>[1])
}

/** Without the taints by which the server says that a Node is new or silent: they come and go by themselves. */
const aboutHost = (n: Node | undefined) => [
  n?.metadata.labels,
  n?.metadata.annotations ?? {},
  n?.spec?.taints?.filter((t) => !t.key.startsWith('node.kubernetes.io/')),
]

/** The server has taints of its own for a Node that is new. */
const oursOn = (n: Node | undefined) => (n?.spec?.taints ?? []).filter((t) => t.key.startsWith('kubenode.io/'))

/** What the Defender does, as the Defender. */
async function grant(permit: OperationPermit): Promise<void> {
  const status = grantedAt(systemClock.now(), permit)
  await as('kubenode:defender').update(
    operationPermit,
    { ...permit, status },
    {
      subresource: 'status',
    },
  )
}
