import { sha256OfJson } from '#lib/sha256.ts'
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { createValidator } from '#api/validate.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { planeNow } from './plane-changes.ts'
import { updateProblems } from './update-problems.ts'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const cluster = (controlPlane: object, more: object = {}) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Cluster',
  metadata: { namespace: 'fleet', name: 'one', creationTimestamp: '2026-11-25T00:00:00Z' },
  spec: { version: '1.36.0', controlPlane, deletionPolicy: 'Delete', ...more },
})
const targets = (object: KubeObject) =>
  new Map([['hub', { objects: [{ ref: refOf(object), object, digest: sha256OfJson(object) }], rejected: [] }]])
type Given = ReturnType<typeof cluster>
const found = (old: Given, next: Given, planes?: readonly Given[]) =>
  updateProblems(
    {
      before: targets(old),
      after: targets(next),
      planes: planes?.map((p) => planeNow(p as never)),
      now: NOW,
    },
    createValidator(),
  ).map(({ isCertain, pointer, message }) => ({ isCertain, pointer, message }))

test('a field that never changes is refused, whatever else the commit changes', () => {
  const embedded = cluster({ flavor: 'embedded' })
  expect(found(embedded, cluster({ flavor: 'kubernetes' }))).toEqual([
    {
      isCertain: true,
      pointer: '/spec/controlPlane/flavor',
      message: expect.stringMatching(/immutable; create another cluster: the API server refuses this change/),
    },
  ])
  expect(found(cluster({}), cluster({ flavor: 'kubernetes' }))).toEqual([])
  expect(found(embedded, cluster({ flavor: 'embedded', snapshot: 'a' }))).toEqual([])
})

test('a time to live that is over when it is merged is named, with the times that an inventory knows', () => {
  const old = cluster({ flavor: 'embedded' })
  const over = cluster({ flavor: 'embedded' }, { ttl: '8h' })
  const pointer = '/spec/ttl'
  expect(found(old, over, [old])).toEqual([
    {
      isCertain: false,
      pointer,
      message: expect.stringMatching(
        /stops .* as soon as this is merged: .* ended at 2026-11-25T08:00:00Z; its data stays; /,
      ),
    },
  ])
  expect(found(old, over)).toEqual([
    {
      isCertain: false,
      pointer,
      message: expect.stringContaining('once it is older than 8h, and at once if it is now'),
    },
  ])
  expect(found(old, cluster({ flavor: 'embedded' }, { ttl: '24h' }), [old])).toEqual([])
  expect(found(over, over, [old])).toEqual([])
})

test('a version that no host serves is refused, with what is served, also for a cluster that is new', () => {
  const status = { served: ['1.35', '1.36'] }
  const here = { ...cluster({ flavor: 'embedded' }), status } as Given
  const next = cluster({ flavor: 'embedded' }, { version: '1.37.0' })
  const refused = {
    isCertain: true,
    pointer: '/spec/version',
    message: expect.stringMatching(
      /^version 1\.37\.0 of Cluster \w+ is not served by its host, which serves 1\.35, 1\.36/,
    ),
  }
  expect(found(here, next, [here])).toEqual([refused])
  const other = { ...next, metadata: { ...next.metadata, name: 'two' } }
  expect(found(here, other, [here])).toEqual([refused])
  expect(found(here, cluster({ flavor: 'embedded' }, { version: '1.35.4' }), [here])).toEqual([])
  // Existing problems are not this commit's, and unknown facts refuse nothing.
  expect(found(next, next, [here])).toEqual([])
  expect(found(here, next)).toEqual([])
})
