import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { ConnectionError } from '#kube/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { Controller } from '#runtime/controller.ts'
import { createInformers } from '#runtime/informers.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { reconcileClusterHealth } from './cluster-health.ts'
import { syncErrors } from '../sync-errors.ts'
import type { HubParts } from './parts.ts'

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
    // As a server that is far away, and busy with all that come back.
    await clock.sleep(50)
    running--
    if (isAway) throw new ConnectionError(syncErrors.KN7301({ id: name }), 'no')
    return { items: [] }
  }
  const parts = {
    clusters: informers.of(cluster),
    context: { client, clock, random },
    connections: {
      to: async ({ metadata }: Cluster) => ({
        program: {
          list: () => list(metadata.name ?? ''),
          raw: async () => ({ status: 200, headers: {}, text: '{"gitVersion": "v1.35.2+test"}' }),
        },
      }),
      credentialsEnd: () => clock.now() + DAY_MS,
    },
  } as unknown as HubParts
  const health = new Controller({
    name: 'cluster-health',
    workers: WORKERS,
    clock,
    random,
    log: silentLogger,
    reconcile: (key, context) => reconcileClusterHealth(parts, key, context),
  })
  parts.clusters.onChange((old, now) => {
    if (now !== undefined && old === undefined) health.enqueue(`fleet/${now.metadata.name}`)
  })
  informers.start()
  health.start()
  await clock.advance(ROUND_MS)
  const ready = () => parts.clusters.list().map((c) => c.status?.conditions?.find((x) => x.type === 'Ready')?.status)
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
