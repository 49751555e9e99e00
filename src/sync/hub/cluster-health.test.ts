import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { ConnectionError } from '#kube/errors.ts'
import { timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { Controller, type ReconcileContext } from '#runtime/controller.ts'
import { createInformers } from '#runtime/informers.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type HealthLoop, reconcileClusterHealth } from './cluster-health.ts'
import { syncErrors } from '../sync-errors.ts'
import { MachineCounts } from './machine-counts.ts'

const CLUSTERS = 500
const WORKERS = 16
/** The longest time between two requests to one cluster. */
const ROUND_MS = 75_000
const DAY_MS = 86_400_000

test('F12 five hundred clusters that come back at once get one list each from the hub, spread over a minute, and few at the same time', async () => {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type: cluster, status: true }] })
  for (let i = 0; i < CLUSTERS; i++)
    fake.plant(cluster, {
      apiVersion: API_GROUP_VERSION,
      kind: 'Cluster',
      metadata: { name: `c${i}`, namespace: 'fleet' },
      spec: { kubeconfigSecretRef: { name: `cluster-c${i}` } },
    })
  const client = fake.client({ actor: 'sync' })
  const random = seededRandom(2)
  const informers = createInformers({ client, clock, random, log: silentLogger, startSpreadMs: 0 })
  const lists: { readonly name: string; readonly at: number }[] = []
  let [isAway, running, most] = [true, 0, 0]
  const list = async (name: string) => {
    lists.push({ name, at: clock.monotonic() })
    most = Math.max(most, ++running)
    // Like a distant server that is busy with all returning clients.
    await clock.sleep(50)
    running--
    if (isAway) throw new ConnectionError(syncErrors.KN7301({ id: name }), 'no')
    return { items: [] }
  }
  const loop = {
    clusters: informers.of(cluster),
    context: { client, clock, random },
    machineCounts: new MachineCounts(clock, random),
    connections: {
      to: async ({ metadata }: Cluster) => ({
        program: {
          list: () => list(metadata.name ?? ''),
          raw: async () => ({ status: 200, headers: {}, text: '{"gitVersion": "v1.35.2+test"}' }),
        },
      }),
      credentialsEnd: () => clock.now() + DAY_MS,
    },
  } as unknown as HealthLoop
  const health = new Controller({
    name: 'cluster-health',
    workers: WORKERS,
    clock,
    random,
    log: silentLogger,
    reconcile: (key, context) => reconcileClusterHealth(loop, key, context),
  })
  loop.clusters.onChange((old, now) => {
    if (now !== undefined && old === undefined) health.enqueue(`fleet/${now.metadata.name}`)
  })
  informers.start()
  health.start()
  await clock.advance(ROUND_MS)
  const ready = () => loop.clusters.list().map((c) => c.status?.conditions?.find((x) => x.type === 'Ready')?.status)
  expect(new Set(ready())).toEqual(new Set(['Unknown']))

  const back = clock.monotonic()
  isAway = false
  most = 0
  await clock.advance(ROUND_MS + 5_000)
  expect(new Set(ready())).toEqual(new Set(['True']))
  const after = lists.filter(({ at }) => at >= back && at < back + 60_000)
  expect(
    Math.max(
      ...Map.groupBy(after, ({ name }) => name)
        .values()
        .map((all) => all.length),
    ),
  ).toBe(1)
  expect(new Set(lists.filter(({ at }) => at >= back).map(({ name }) => name)).size).toBe(CLUSTERS)
  const perSecond = Map.groupBy(after, ({ at }) => Math.floor(at / 1_000))
  expect(Math.max(...perSecond.values().map((all) => all.length))).toBeLessThan(CLUSTERS / 10)
  expect(most).toBeLessThanOrEqual(WORKERS)
  await health.stop(0)
  await informers.stop()
})

describe('what a Cluster says of its machines', () => {
  const aMachine = (name: string, ready: string, agent: string): Machine =>
    ({
      metadata: { name },
      spec: {},
      status: {
        conditions: [
          { type: 'Ready', status: ready },
          { type: 'AgentReachable', status: agent },
        ],
      },
    }) as unknown as Machine
  const MACHINES = [aMachine('a', 'True', 'True'), aMachine('b', 'False', 'True'), aMachine('c', 'Unknown', 'False')]

  async function world(spec: object, status?: object) {
    const clock = new VirtualClock()
    const random = seededRandom(3)
    const fake = new FakeKube({ clock, random, kinds: [{ type: cluster, status: true }] })
    const metadata = { name: 'one', namespace: 'fleet' }
    fake.plant(cluster, { apiVersion: API_GROUP_VERSION, kind: 'Cluster', metadata, spec })
    if (status !== undefined) fake.poke(cluster, metadata, { status }, 'status')
    const client = fake.client({ actor: 'sync' })
    const informers = createInformers({ client, clock, random, log: silentLogger, startSpreadMs: 0 })
    const far = { isAway: false, machines: MACHINES, counts: 0 }
    const program = {
      list: async ({ kind }: { readonly kind: string }) => {
        if (far.isAway) throw new ConnectionError(syncErrors.KN7301({ id: 'one' }), 'no')
        if (kind === machine.kind) far.counts++
        return { items: kind === machine.kind ? far.machines : [] }
      },
      raw: async () => ({ status: 200, headers: {}, text: '{"gitVersion": "v1.35.2"}' }),
    }
    const loop = {
      clusters: informers.of(cluster),
      context: { client, clock, random },
      machineCounts: new MachineCounts(clock, random),
      connections: { to: async () => ({ program }), credentialsEnd: () => END },
    } as unknown as HealthLoop
    informers.start()
    await clock.advance(1_000)
    const { signal } = new AbortController()
    const readHealth = async (afterMs = ROUND_MS): Promise<NonNullable<Cluster['status']>> => {
      await clock.advance(afterMs)
      await reconcileClusterHealth(loop, 'fleet/one', { signal } as ReconcileContext)
      await clock.advance(100)
      return loop.clusters.get(metadata)?.status ?? {}
    }
    return { far, look: readHealth, stop: () => informers.stop() }
  }
  const END = Date.UTC(2031, 0, 1)
  const REGISTERED = { kubeconfigSecretRef: { name: 'cluster-one' } }
  const HOSTED = { version: '1.36.0', controlPlane: { flavor: 'embedded' } }

  test('they are counted in the round after the first answer, then every five minutes, and are unknown while it does not answer', async () => {
    const { far, look: readHealth, stop } = await world(REGISTERED)
    expect((await readHealth()).machines).toBeUndefined()
    expect((await readHealth()).machines).toEqual({ total: 3, ready: 1, agents: 2 })
    far.machines = MACHINES.slice(0, 1)
    for (let round = 0; round < 3; round++) expect((await readHealth()).machines?.total).toBe(3)
    expect(far.counts).toBe(1)
    expect((await readHealth(2 * ROUND_MS)).machines).toEqual({ total: 1, ready: 1, agents: 1 })
    far.isAway = true
    expect(await readHealth()).not.toHaveProperty('machines')
    far.isAway = false
    await readHealth()
    expect((await readHealth()).machines?.total).toBe(1)
    expect(far.counts).toBe(3)
    await stop()
  })

  test('where there are none yet, they are counted in every round', async () => {
    const { far, look: readHealth, stop } = await world(REGISTERED)
    far.machines = []
    await readHealth()
    expect((await readHealth()).machines?.total).toBe(0)
    far.machines = MACHINES
    expect((await readHealth()).machines?.total).toBe(3)
    await readHealth()
    expect(far.counts).toBe(2)
    await stop()
  })

  test('a control plane on the hub gets these and no word about whether it runs', async () => {
    const own = { phase: 'Ready', versions: [{ part: 'apiserver', version: '1.36.0' }], conditions: [] }
    const { far, look: readHealth, stop } = await world(HOSTED, own)
    await readHealth()
    const found = await readHealth()
    expect(found).toMatchObject({ ...own, credentialsEnd: timestamp(END) })
    expect(found.machines).toEqual({ total: 3, ready: 1, agents: 2 })
    expect(found.reachableSince).toBeDefined()
    far.isAway = true
    const away = await readHealth()
    expect(away).toMatchObject(own)
    expect(away).not.toHaveProperty('reachableSince')
    expect(away).not.toHaveProperty('waitingFor')
    await stop()
  })

  test('after a restart, those that have a count are counted within a period and not at once', async () => {
    const machines = { total: 10_000, ready: 1, agents: 1 }
    const status = { machines, reachableSince: '2026-01-01T00:00:00Z' }
    const { far, look: readHealth, stop } = await world(REGISTERED, status)
    expect((await readHealth()).machines).toEqual(machines)
    expect(far.counts).toBe(0)
    expect((await readHealth(20 * 60_000)).machines?.total).toBe(3)
    await stop()
  })
})
