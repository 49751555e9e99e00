// Previews whose source was deleted while no sync ran, and previews whose source is not in the cache yet.
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { createEventRecorder } from '#kube/events.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { HubShared } from '../hub/shared.ts'
import { syncModule, type SyncContext } from '../role.ts'
import { reconcilePreviews } from './reconcile.ts'

const KEY = 'fleet/main'
const KINDS = [approval, cluster, fleetSource, operationalHold, releasePipeline, release, fleetBrake, defenderPolicy]

const preview = (of: string, more: object = {}) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Cluster' as const,
  metadata: {
    name: 'pv-a',
    namespace: 'fleet',
    annotations: { [ANNOTATIONS.previewOf]: of, [ANNOTATIONS.previewBranch]: 'preview/a', ...more },
  },
  spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' as const }, deletionPolicy: 'Delete' as const },
})

const source = {
  apiVersion: API_GROUP_VERSION,
  kind: 'FleetSource' as const,
  metadata: { name: 'main', namespace: 'fleet' },
  spec: { url: 'https://git.example.org/fleet.git', tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }] },
}

function hub() {
  const clock = new VirtualClock()
  const fake = new FakeKube({
    clock,
    random: seededRandom(1),
    kinds: KINDS.map((type) => ({ type, status: true })),
  })
  const client = fake.client({ actor: 'sync' })
  const own = { client, clock, random: seededRandom(2), log: silentLogger }
  return { clock, fake, client, own }
}

let stop: (() => Promise<void>) | undefined
afterEach(async () => {
  await stop?.()
  stop = undefined
})

async function startSync({ own, clock }: ReturnType<typeof hub>): Promise<void> {
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const context = {
    ...own,
    informers,
    metrics: createMetrics(),
    events: createEventRecorder({ ...own, controller: 'kubenode.io/sync', instance: 't' }),
    hubAs: () => own.client,
    connect: () => own.client,
    config: { cacheDir: 'no-folder' },
  } as unknown as SyncContext
  const { controllers } = syncModule.setup(context)
  informers.start()
  const synced = informers.synced()
  await clock.advance(1_000)
  await synced
  const previews = controllers.find((c) => c.name === 'fleetsource-previews')
  if (previews === undefined) throw new Error('the loop of previews has another name')
  previews.start()
  stop = async () => {
    await previews.stop(0)
    await informers.stop()
  }
  await clock.advance(5_000)
}

test('a preview whose source was deleted while no sync ran is deleted at the start, also one that nothing has begun yet', async () => {
  const h = hub()
  h.fake.plant(cluster, preview(KEY))
  await startSync(h)
  expect(await h.client.get(cluster, { name: 'pv-a', namespace: 'fleet' })).toBeUndefined()
})

test('a Cluster that only claims to be a preview of a source that is gone is kept', async () => {
  const h = hub()
  h.fake.plant(cluster, preview('other/main'))
  await startSync(h)
  expect(await h.client.get(cluster, { name: 'pv-a', namespace: 'fleet' })).toBeDefined()
})

test('a preview is kept while the hub has its source and only the cache lacks it', async () => {
  const h = hub()
  h.fake.plant(cluster, preview(KEY))
  h.fake.plant(fleetSource, source)
  const seen = await h.client.get(cluster, { name: 'pv-a', namespace: 'fleet' })
  const shared = {
    context: h.own,
    sources: { get: () => undefined },
    clusters: { list: () => [seen] },
  } as unknown as HubShared
  const pass = { signal: new AbortController().signal, log: silentLogger }
  expect(await reconcilePreviews(shared, KEY, pass as never)).toMatchObject({ kind: 'Requeue' })
  expect(await h.client.get(cluster, { name: 'pv-a', namespace: 'fleet' })).toBeDefined()
  await h.client.delete(fleetSource, { name: 'main', namespace: 'fleet' })
  await reconcilePreviews(shared, KEY, pass as never)
  expect(await h.client.get(cluster, { name: 'pv-a', namespace: 'fleet' })).toBeUndefined()
})
