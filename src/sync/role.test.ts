// How the hub's loops react when their objects change.
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createEventRecorder } from '#kube/events.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { SECRET } from './hub/connections.ts'
import { syncModule } from './role.ts'

/** Time until each Cluster was polled once. */
const ROUND_MS = 80_000

test('connections to a Cluster are closed when it is deleted on the hub, and those to others stay', async () => {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const fake = new FakeKube({ clock, random, kinds: [{ type: cluster, status: true }] })
  const client = fake.client({ actor: 'sync' })
  for (const name of ['prod', 'test']) {
    const kubeconfig = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: `https://${name}.example.org` } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    })
    const metadata = { namespace: CLUSTERS_NAMESPACE, name: `cluster-${name}` }
    const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') }
    await client.create(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata, data })
    fake.plant(cluster, {
      apiVersion: API_GROUP_VERSION,
      kind: 'Cluster',
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec: { kubeconfigSecretRef: { name: `cluster-${name}` } },
    })
  }
  const closed: string[] = []
  const log = silentLogger
  const informers = createInformers({ client, clock, random, log, startSpreadMs: 0 })
  const { controllers } = syncModule.setup({
    client,
    clock,
    random,
    log,
    informers,
    metrics: createMetrics(),
    events: createEventRecorder({ client, clock, controller: 'kubenode.io/sync', instance: 'test' }),
    connect: ({ server }) =>
      Object.assign(new FakeKube({ clock, random }).client({ actor: 'sync' }), { close: () => closed.push(server) }),
    hubAs: () => client,
    news: { ofRelease: () => ({}), ofSource: () => ({}) },
    config: { cacheDir: '/nonexistent', weakCage: 'allow' },
  })
  informers.start()
  for (const controller of controllers) controller.start()
  await clock.advance(ROUND_MS)
  await client.delete(cluster, { namespace: SYSTEM_NAMESPACE, name: 'prod' })
  await clock.advance(ROUND_MS)
  expect(closed).toEqual(['https://prod.example.org'])
  await Promise.all(controllers.map((c) => c.stop(0)))
  await informers.stop()
})
