import { expect, test } from 'vitest'
import { type Release, release as releaseKind } from '#api/kinds/release.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { previousOf, releasesIn } from '../release/chain.ts'

type Phase = 'Waiting' | 'Healthy' | 'Applying'

const statusAt = (phase: Phase): NonNullable<Release['status']> => ({
  stages: [{ name: 'test', phase: phase === 'Healthy' ? 'Succeeded' : 'Progressing' }],
  clusters: [{ name: 'x', stage: 'test', phase, digest: 'A', since: 's', healthySince: 'h' }],
})

const releaseNamed = (name: string): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c', digests: {} },
})

test('what a release has begun counts for the next one before the watch tells of it', async () => {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type: releaseKind, status: true }] })
  const client = fake.client({ actor: 'sync' })
  const releases = createInformers({ client, clock, random: seededRandom(2), log: silentLogger }).of(releaseKind)
  for (const [name, phase] of Object.entries({ a: 'Healthy', b: 'Waiting', c: 'Waiting' } as const)) {
    fake.plant(releaseKind, releaseNamed(name))
    releases.assume(fake.poke(releaseKind, { namespace: 'n', name }, { status: statusAt(phase) }, 'status') as Release)
    await clock.advance(1_000)
  }
  const [b, next] = ['b', 'c'].map((name) => releases.get({ namespace: 'n', name }))
  if (b === undefined || next === undefined) throw new Error('not cached')
  const previous = () => previousOf(releasesIn(releases.list(), 'n'), next, 'x')
  expect(previous()).toMatchObject({ digest: 'A' })
  // No watch is running here.
  const own = { client, type: releaseKind, fieldManager: 'kubenode-sync', cache: releases }
  await writeStatus({ ...own, object: b, status: statusAt('Applying') })
  expect(previous()).toBeUndefined()
  expect(releasesIn(releases.list(), 'other')).toEqual([])
})
