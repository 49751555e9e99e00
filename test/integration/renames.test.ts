// F41 on the embedded server over HTTPS, with its garbage collector: a set of hollow machines is renamed, then replaced by one that needs other hosts, with
// the real controllers and the Defender. Judged by the history of a watch.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { programUser } from '#api/names.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { noFaults } from '#agent/hollow/faults.ts'
import { type ApiServer, createApiServer } from '#apiserver/api-server.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { recording } from '#test/support/rights/record.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { until } from '../e2e/rollout-replay/cluster.ts'
import { startApprover } from '#test/support/servers/approver.ts'

const MACHINES = 12
/** A quarter may be away. */
const FLOOR = 9
const POOL = { 'kubenode.io/pool': 'workers' }
const WITHIN_MS = 240_000

const own = { clock: systemClock, random: systemRandom, log: silentLogger }
const stop = new AbortController()
const parts: Part[] = []
const clients: HttpKubeClient[] = []
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

async function startRoles(provider: MemoryProvider): Promise<void> {
  const asRole = (program: string) => {
    const client = clientAs(programUser(program))
    return {
      client,
      informers: createInformers({ client, ...own, startSpreadMs: 0 }),
      metrics: createMetrics(),
      ...own,
    }
  }
  const controllers = asRole('controllers')
  const defender = asRole('defender')
  const config = {
    cluster: 'test',
    providers: { hollow: provider },
    join: { server: api.url, caData: '', artifactBase: '', trust: { sequence: 0, threshold: 1, keys: [] } },
  }
  const events = { record: () => undefined, flush: () => Promise.resolve() }
  for (const module of [machineModule, machineSetModule]) {
    const running = module.setup({ ...controllers, events, config })
    parts.push(...running.controllers, ...(running.parts ?? []))
  }
  parts.push(...((await defenderModule({ identity: 'test' }).setup(defender)).parts ?? []))
  parts.push(await startApprover(clientAs(programUser('approver')), own))
  for (const { informers } of [controllers, defender]) {
    informers.start()
    await informers.synced()
  }
}

beforeAll(async () => {
  api = await createApiServer(recording)
  await api.listen()
  admin = clientAs()
  await installAll(admin)
  await admin.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'quarter' },
    spec: {
      budgets: [{ max: '25%', of: 'unavailable', per: 'cluster' }],
      rates: [{ window: '1m', max: 1_000, per: 'cluster' }],
      healthFloor: FLOOR,
      mode: 'Enforce',
    },
  } as never)
  const fleet = new HollowFleet({ client: clientAs(), ...own, version: '0.0.0', leaseMs: 10_000, faults: noFaults })
  const provider = new MemoryProvider({ clock: systemClock, name: 'hollow' })
  void provider.events(({ machine, kind }) => {
    if (kind === 'Started') fleet.add(machine, 'boot')
    else if (kind === 'Deleted') void fleet.remove(machine)
  }, stop.signal)
  void fleet.run(stop.signal)
  await startRoles(provider)
  for (const part of parts) await part.start(stop.signal)
})

afterAll(async () => {
  stop.abort()
  for (const part of parts.toReversed()) await part.stop(1_000)
  for (const client of clients) client.close()
  await api.close()
})

const isReady = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true

interface History {
  fewestReady: number
  made: number
  deleted: number
}

/** What a watch tells from now on until `done`; every event counts. */
async function historyWhile(done: () => Promise<void>): Promise<History> {
  const { items, resourceVersion } = await admin.list(machineType)
  const ready = new Map(items.map((m) => [m.metadata.uid, isReady(m)]))
  const count = () => [...ready.values()].filter(Boolean).length
  const history: History = { fewestReady: count(), made: 0, deleted: 0 }
  const end = new AbortController()
  const watching = (async () => {
    for await (const event of admin.watch(machineType, { resourceVersion, signal: end.signal })) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED' && event.type !== 'DELETED') continue
      if (event.type === 'ADDED') history.made++
      if (event.type === 'DELETED') {
        history.deleted++
        ready.delete(event.object.metadata.uid)
      } else ready.set(event.object.metadata.uid, isReady(event.object))
      history.fewestReady = Math.min(history.fewestReady, count())
    }
  })()
  await done()
  end.abort()
  await watching.catch((error: unknown) => {
    if (!end.signal.aborted) throw error
  })
  return history
}

const create = (name: string, params: Readonly<Record<string, string>> = {}) =>
  admin.create(machineSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineSet',
    metadata: { name },
    spec: {
      replicas: MACHINES,
      selector: { matchLabels: POOL },
      template: { metadata: { labels: POOL }, spec: { provider: { name: 'hollow', params }, pool: 'workers' } },
    },
  } as never)

const isWhole = async (name: string) => {
  const set = await admin.get(machineSet, { name })
  return set?.status?.readyReplicas === MACHINES && set.status.replicas === MACHINES
}
const isGone = async (name: string) => (await admin.get(machineSet, { name })) === undefined

test('F41 a renamed set keeps every machine, and none is away for a moment', async () => {
  await create('workers')
  await until(
    'workers',
    () => isWhole('workers'),
    (whole) => whole,
    WITHIN_MS,
  )
  const history = await historyWhile(async () => {
    await create('batch')
    await admin.delete(machineSet, { name: 'workers' }, { propagationPolicy: 'Background' })
    await until(
      'batch',
      () => isWhole('batch'),
      (whole) => whole,
      WITHIN_MS,
    )
    await until(
      'the end of workers',
      () => isGone('workers'),
      (gone) => gone,
      WITHIN_MS,
    )
  })
  expect(history).toEqual({ fewestReady: MACHINES, made: 0, deleted: 0 })
}, 600_000)

test('F41 a set that is deleted in the foreground, and replaced on other hosts, leaves one budget at a time', async (context) => {
  onlyInFull(context)
  const history = await historyWhile(async () => {
    await create('large', { size: 'l' })
    await admin.delete(machineSet, { name: 'batch' }, { propagationPolicy: 'Foreground' })
    await until(
      'large',
      () => isWhole('large'),
      (whole) => whole,
      WITHIN_MS,
    )
    await until(
      'the end of batch',
      () => isGone('batch'),
      (gone) => gone,
      WITHIN_MS,
    )
  })
  expect(history.fewestReady).toBeGreaterThanOrEqual(FLOOR)
  expect([history.made, history.deleted]).toEqual([MACHINES, MACHINES])
}, 600_000)
