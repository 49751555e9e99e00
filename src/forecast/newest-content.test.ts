import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { newestContents } from './newest-content.ts'

const T = (hour: number) => `2026-01-05T${String(hour).padStart(2, '0')}:00:00Z`
const release = (name: string, hour: number, content: string, more: object = {}, namespace = 'n') =>
  ({
    metadata: { name, namespace, creationTimestamp: T(hour) },
    spec: { source: 's', track: 'all', digests: { a: content.repeat(64) }, ...more },
  }) as unknown as Release
const source = {
  metadata: { namespace: 'n', name: 's' },
  spec: { tracks: [{ name: 'all' }, { name: 'rules' }] },
} as unknown as FleetSource
const first = release('r-1', 1, '1')
const second = release('r-2', 2, '2', { previous: 'r-1' })
const again = release('r-3', 3, '1', { previous: 'r-2' })

test('the newest content of a track, and since when Approvals count: others of its name are in other namespaces, sources and tracks', () => {
  const strangers = [
    release('r-9', 9, '9', {}, 'other'),
    release('r-8', 8, '8', { source: 'x' }),
    release('r-7', 7, '7', { track: 'x' }),
  ]
  const newest = (...releases: readonly Release[]) => newestContents(source, [...strangers, ...releases])
  expect(newest()).toEqual([])
  expect(newest(first)).toEqual([{ track: 'all', digest: targetsDigest(first), otherSince: T(1) }])
  expect(newest(again, first, second)).toEqual([
    { track: 'all', digest: targetsDigest(first), approvedSince: T(2), otherSince: T(3) },
  ])
})
