import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { previousOf } from '../release/chain.ts'
import { releasesIn } from './parts.ts'
import { WrittenReleases } from './written-releases.ts'

const release = (name: string, resourceVersion: string, phase: 'Waiting' | 'Healthy' | 'Applying'): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'n', uid: name, resourceVersion },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c', digests: {} },
  status: {
    stages: [{ name: 'test', phase: phase === 'Healthy' ? 'Succeeded' : 'Progressing' }],
    clusters: [{ name: 'x', stage: 'test', phase, digest: 'A', since: 's', healthySince: 'h' }],
  },
})

test('what a release has begun counts for the next one before the cache has seen it', () => {
  const written = new WrittenReleases()
  const [first, next] = [release('a', '1', 'Healthy'), release('c', '4', 'Waiting')]
  const cached = [first, release('b', '2', 'Waiting'), next]
  const releases = { list: () => cached } as unknown as SharedInformer<Release>
  const previous = () => previousOf(releasesIn({ releases, written }, 'n'), next, 'x')
  expect(previous()).toMatchObject({ digest: 'A' })
  written.remember(release('b', '3', 'Applying'))
  expect(previous()).toBeUndefined()
  expect(releasesIn({ releases, written }, 'other')).toEqual([])
})
