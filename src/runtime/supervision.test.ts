import { coreKind } from '#kube/core-kinds.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { createInformer } from '#kube/informer.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { Controller } from './controller.ts'
import { Health } from './health.ts'
import { LeaderElection } from './leader.ts'
import { Manager } from './manager.ts'
import { createMetrics } from './metrics.ts'
import { done } from './outcome.ts'
import { supervise } from './supervision.ts'

const nodeType = coreKind('Node')

/** A whole program: one cache, one controller, and everything that looks after them. */
function program(reconcile: (clock: VirtualClock) => Promise<typeof done> = async () => done, timeoutMs?: number) {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const log = silentLogger
  const fake = new FakeKube({ clock, random })
  const health = new Health()
  const metrics = createMetrics()
  const supervision = supervise({ clock, log, health, metrics })
  const nodes = createInformer({ client: fake.client({ actor: 'program' }), type: nodeType, clock, random })
  const controller = new Controller({
    name: 'node',
    reconcile: () => reconcile(clock),
    clock,
    random,
    log,
    workers: 1,
    ...defined({ timeoutMs }),
  })
  nodes.addHandler((old, now) => controller.enqueue((now ?? old)?.metadata.name ?? ''))
  const manager = new Manager({
    clock,
    log,
    caches: [supervision.cache('nodes', nodes)],
    election: supervision.election(
      (events) =>
        new LeaderElection({
          client: fake.client({ actor: 'election' }),
          clock,
          random,
          log,
          lease: { namespace: 'kubenode-system', name: 'program' },
          identity: 'program-1',
          ...events,
        }),
    ),
    controllers: () => [supervision.controller(controller)],
  })
  supervision.watchdog.start()
  const abort = new AbortController()
  const gauge = async (name: string) =>
    (await metrics.registry.metrics()).split('\n').filter((l) => l.startsWith(`${name}{`) || l.startsWith(`${name} `))
  const plant = (name: string) => fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  return {
    clock,
    fake,
    health,
    manager,
    plant,
    gauge,
    run: () => manager.run(abort.signal),
    terminate: () => abort.abort(),
  }
}

test('a program is ready once its caches are, works, and drains on the signal', async () => {
  const seen: string[] = []
  const { clock, health, manager, plant, run, terminate } = program(async () => (seen.push('look'), done))
  plant('n')
  expect(health.ready().ok).toBe(false)
  const running = run()
  await clock.advance(1_000)
  expect([health.ready().ok, health.live().ok, manager.phase, seen.length]).toEqual([true, true, 'Leading', 1])
  terminate()
  expect(await running).toEqual({ reason: 'Stopped', left: [] })
})

test('a server that is away from the caches makes the program unready, not dead, and it recovers by itself', async () => {
  const { clock, fake, health, gauge, run, terminate } = program()
  const running = run()
  await clock.advance(1_000)
  fake.faults = { call: ({ actor }) => (actor === 'program' ? { kind: 'lose', when: 'before' } : undefined) }
  fake.closeWatches('program', 'lost')
  await clock.advance(600_000)
  expect([health.ready().ok, health.live().ok]).toEqual([false, true])
  expect(await gauge('kubenode_stalled')).toEqual(['kubenode_stalled{part="watch nodes"} 1'])
  fake.faults = {}
  await clock.advance(600_000)
  expect([health.ready().ok, await gauge('kubenode_stalled')]).toEqual([
    true,
    ['kubenode_stalled{part="watch nodes"} 0'],
  ])
  terminate()
  await running
})

test('an idle program is neither stalled nor dead, however long nothing happens', async () => {
  const { clock, health, run, terminate } = program()
  const running = run()
  await clock.advance(6 * 3_600_000)
  expect([health.ready(), health.live().ok]).toMatchObject([{ ok: true }, true])
  terminate()
  await running
})

test('a loop whose reconciles take as long as they may is not dead, also after hours without one', async () => {
  const WHOLE_MS = 180_000
  const { clock, health, plant, run, terminate } = program(async (clock) => {
    await clock.sleep(WHOLE_MS)
    return done
  }, WHOLE_MS)
  const running = run()
  await clock.advance(6 * 3_600_000)
  for (const name of ['a', 'b', 'c']) plant(name)
  for (let passed = 0; passed < 4 * WHOLE_MS; passed += 10_000) {
    await clock.advance(10_000)
    expect(health.live()).toMatchObject({ ok: true })
  }
  terminate()
  await clock.advance(30_000)
  await running
})

test('a process that starts without its server waits, unready, and ends cleanly on a signal', async () => {
  const { clock, fake, health, manager, run, terminate } = program()
  fake.faults = { call: () => ({ kind: 'refuse', when: 'before', code: 503 }) }
  const running = run()
  await clock.advance(120_000)
  expect([health.ready().ok, manager.phase]).toEqual([false, 'Syncing'])
  terminate()
  await clock.advance(30_000)
  expect(await running).toMatchObject({ reason: 'Stopped' })
})

test('leadership shows in the metrics', async () => {
  const { clock, gauge, run, terminate } = program()
  const running = run()
  await clock.advance(1_000)
  expect(await gauge('kubenode_leader')).toEqual(['kubenode_leader 1'])
  terminate()
  await running
  expect(await gauge('kubenode_leader')).toEqual(['kubenode_leader 0'])
})
