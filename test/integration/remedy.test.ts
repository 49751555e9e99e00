// A fault on an embedded server over HTTPS, with the rights that the controllers are shipped with and the real Defender: condition, rule, job, permit, steps, verified.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { createDefenderRole } from '#defender/role.ts'
import { systemClock, timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { install } from '#local/install.ts'
import { type Node, hasTaint, nodeType } from '#nodeops/objects.ts'
import { type Informers, createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { type RunningServer, startEmbedded } from '#test/support/api-servers.ts'
import { condition } from '#test/support/defender-objects.ts'

let server: RunningServer
let admin: KubeClient
const stops: (() => Promise<unknown>)[] = []

const connection = () => ({
  server: server.url,
  ca: { data: server.ca },
  clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
})
const as = (user: string): KubeClient =>
  new HttpKubeClient({ ...connection(), impersonate: { user, groups: ['system:authenticated'] } })

const tools = () => ({ clock: systemClock, random: systemRandom, log: silentLogger, metrics: createMetrics() })

function informersOf(client: KubeClient): Informers {
  const informers = createInformers({ client, ...tools(), startSpreadMs: 0 })
  stops.push(async () => informers.stop())
  return informers
}

async function startDefender(): Promise<void> {
  const client = as('kubenode:defender')
  const informers = informersOf(client)
  const parts: readonly Part[] = await createDefenderRole({ identity: 'test', cluster: 'test' }).setup({
    client,
    informers,
    ...tools(),
  })
  informers.start()
  await informers.synced()
  for (const part of parts) {
    await part.start(new AbortController().signal)
    stops.unshift(async () => part.stop(1_000))
  }
}

async function startControllers(): Promise<void> {
  const client = as('kubenode:controllers')
  const informers = informersOf(client)
  const context: ControllerContext = {
    client,
    informers,
    ...tools(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: {},
      join: { server: server.url, caData: '', artifactBase: '', trust: { sequence: 1, threshold: 1, keys: [] } },
    },
  }
  for (const module of [remedyModule, remedyJobModule])
    for (const c of module.setup(context).controllers) {
      c.start()
      stops.unshift(async () => c.stop(1_000))
    }
  informers.start()
  await informers.synced()
}

const objectOf = (type: ResourceType, name: string, spec: object) =>
  ({ apiVersion: API_GROUP_VERSION, kind: type.kind, metadata: { name }, spec }) as KubeObject

async function setCondition(node: string, type: string, status: 'True' | 'False'): Promise<void> {
  const at = timestamp(systemClock.now())
  const value = {
    status: {
      conditions: [{ type, status, reason: 'Reported', message: '', lastTransitionTime: at, lastHeartbeatTime: at }],
    },
  }
  await admin.patch(nodeType, { name: node }, { type: 'strategic', value: value as never }, { subresource: 'status' })
}

async function until<T>(look: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const end = Date.now() + 15_000
  for (;;) {
    const value = await look()
    if (isSo(value)) return value
    if (Date.now() > end) throw new Error(`never so: ${JSON.stringify(value)}`)
    await systemClock.sleep(20)
  }
}

const jobs = async (): Promise<readonly RemedyOperationJob[]> => (await admin.list(remedyOperationJob)).items
const jobOf = async (node: string) => (await jobs()).find((j) => j.spec.node.name === node)
const readMachine = async (name: string): Promise<Machine | undefined> => admin.get(machine, { name })
const readNode = async (name: string): Promise<Node | undefined> => admin.get(nodeType, { name })

/** What an agent does with a job that its Machine lists. */
async function playAgent(name: string): Promise<string> {
  const [listed] =
    (
      await until(
        () => readMachine(name),
        (m) => (m?.spec.jobs ?? []).length > 0,
      )
    )?.spec.jobs ?? []
  const agent = new HttpKubeClient({
    ...connection(),
    impersonate: {
      user: `kubenode:agent:${name}`,
      groups: ['kubenode:agents', `kubenode:node:${name}`, 'system:authenticated'],
    },
  })
  const job = await until(
    () => agent.get(remedyOperationJob, { name: listed ?? '' }),
    (j) => j?.status?.phase === 'Running',
  )
  const at = timestamp(systemClock.now())
  const step = {
    index: 1,
    operation: 'restartComponent',
    executor: 'Agent',
    attempts: 1,
    startedAt: at,
    finishedAt: at,
    outcome: 'Succeeded',
  }
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name: listed ?? '', uid: job?.metadata.uid ?? '' },
    status: { steps: [step] },
  }
  await agent.apply(remedyOperationJob, object, { fieldManager: 'kubenode-agent', force: true, subresource: 'status' })
  return listed ?? ''
}

const NODES = ['n-0', 'n-1', 'n-2', 'n-3'] as const

beforeAll(async () => {
  server = await startEmbedded()
  admin = new HttpKubeClient(connection())
  await install(admin, join(import.meta.dirname, '../../deploy'), systemClock)
  await admin.create(
    defenderPolicy,
    objectOf(defenderPolicy, 'open', { budgets: [{ max: '100%', of: 'unavailable' }] }),
  )
  for (const name of NODES) {
    const node = await admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    await setCondition(name, 'Ready', 'True')
    await setCondition(name, 'KernelDeadlock', 'False')
    await admin.create(machine, objectOf(machine, name, {}) as never)
    const status = {
      phase: 'Ready',
      nodeRef: { name, uid: node.metadata.uid },
      conditions: [condition('Ready', 'True'), condition('AgentReachable', 'True')],
    }
    await admin.patch(machine, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
  }
  await startDefender()
  await startControllers()
  const rung = {
    operations: [{ cordon: {} }, { restartComponent: { component: 'beacon' } }],
    timeout: '1m',
    verify: { conditionCleared: 'KernelDeadlock', stableFor: '1s' },
  }
  const when = { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] }
  await admin.create(
    nodeRemedier,
    objectOf(nodeRemedier, 'deadlock', { when, ladder: [rung], cooldown: '0s' }) as never,
  )
}, 30_000)

afterAll(async () => {
  for (const stop of stops) await stop()
  await server.stop()
})

test('a fault is repaired under a permit, seen to be gone, and nothing of the repair is left behind', async () => {
  await setCondition('n-0', 'KernelDeadlock', 'True')
  const name = await playAgent('n-0')
  expect(hasTaint(await readNode('n-0'), 'kubenode.io/cordon')).toBe(true)
  await setCondition('n-0', 'KernelDeadlock', 'False')
  const done = await until(
    () => jobOf('n-0'),
    (j) => j?.status?.phase === 'Done',
  )
  expect(done?.status).toMatchObject({
    outcome: 'Succeeded',
    steps: [
      { executor: 'Controller', outcome: 'Succeeded' },
      { executor: 'Agent', outcome: 'Succeeded' },
    ],
  })
  await until(
    () => readMachine('n-0'),
    (m) => (m?.spec.jobs ?? []).length === 0,
  )
  await until(
    () => readNode('n-0'),
    (n) => !hasTaint(n, 'kubenode.io/cordon'),
  )
  const permit = await until(
    () => admin.get(operationPermit, { name }),
    (p) => p?.status?.phase === 'Released',
  )
  expect(Object.values(permit?.spec.results ?? {})).toEqual(['Succeeded'])
}, 30_000)

test('what heals before it starts is left alone', async () => {
  await setCondition('n-1', 'KernelDeadlock', 'True')
  await until(
    () => jobOf('n-1'),
    (j) => j !== undefined,
  )
  await setCondition('n-1', 'KernelDeadlock', 'False')
  const done = await until(
    () => jobOf('n-1'),
    (j) => j?.status?.phase === 'Done',
  )
  expect(done?.status).toMatchObject({ outcome: 'Superseded' })
  expect(done?.status?.startedAt).toBeUndefined()
}, 30_000)

test('when all nodes fail at once none is touched, and the rule says why', async () => {
  await Promise.all(NODES.map((name) => setCondition(name, 'KernelDeadlock', 'True')))
  const inhibited = (r: NodeRemedier | undefined) =>
    r?.status?.conditions?.some((c) => c.type === 'Inhibited' && c.status === 'True') === true
  const rule = await until(() => admin.get(nodeRemedier, { name: 'deadlock' }), inhibited)
  expect(rule?.status?.counts?.matching).toBeGreaterThanOrEqual(3)
  await until(jobs, (all) => all.every((j) => j.status?.phase === 'Done'))
  expect((await jobs()).filter((j) => j.status?.startedAt !== undefined)).toHaveLength(1)
}, 30_000)
