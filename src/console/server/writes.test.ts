// Tests what a page may write: a Hold or an Approval with a reason and an end, and nothing else.
import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { holdFrom, writeApproval } from './writes.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const HOUR = 3_600_000

const hold = {
  cluster: 'prod',
  effect: 'Pause',
  target: { kind: 'MachineComponentSet', name: 'base' },
  reason: ' storage is slow ',
  until: NOW + HOUR,
}

test('a hold names its author, its reason and its end', () => {
  const { metadata, spec } = holdFrom(hold, 'ada', NOW)
  expect(metadata.name).toMatch(/^console-pause-machinecomponentset-base-[0-9a-z]+$/)
  expect(spec).toEqual({
    target: { kind: 'MachineComponentSet', name: 'base' },
    effect: 'Pause',
    reason: 'storage is slow',
    author: 'ada',
    until: '2026-01-31T13:00:00Z',
  })
})

test.each([
  ['no reason', { reason: '  ' }, 'reason is missing'],
  ['a reason without an end of its own', { reason: 'x'.repeat(513) }, 'longer than 512'],
  ['no end', { until: undefined }, 'every write has an end'],
  ['an end in the past', { until: NOW }, 'in the past'],
  ['an end that never comes', { until: NOW + 31 * 24 * HOUR }, '30 days ahead'],
  ['an end that is no time', { until: Infinity }, 'every write has an end'],
  ['an unknown effect', { effect: 'Delete' }, 'effect must be one of'],
  ['a kind that takes no hold', { target: { kind: 'Secret', name: 'a' } }, 'kind must be one of'],
  ['a name that is a path', { target: { kind: 'Machine', name: '../../secrets' } }, 'not the name of an object'],
  ['everything of a kind', { target: { kind: 'Machine', selector: {} } }, 'not the name of an object'],
  ['no object', { target: 'machine/a' }, 'the object is missing'],
])('%s is refused', (_, change, message) => {
  expect(() => holdFrom({ ...hold, ...change }, 'ada', NOW)).toThrow(message)
})

const release = {
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
  spec: { source: 'fleet', track: 'fleet', pipeline: 'p', commit: 'c'.repeat(40), digests: { prod: 'a' } },
  status: { phase: 'Progressing', stages: [{ name: 'prod', phase: 'Waiting', healthy: 0, failed: 0, total: 1 }] },
} as unknown as Release
const pipeline = {
  metadata: { name: 'p' },
  spec: {
    stages: [{ name: 'prod', before: [{ name: 'board', approval: { from: ['group:release', 'ada'], count: 2 } }] }],
  },
}
const clientOf = (username: string): KubeClient =>
  ({
    get: async ({ kind }: { readonly kind: string }) => (kind === 'Release' ? release : pipeline),
    create: async (_: unknown, object: unknown) => object,
    raw: async () => ({ status: 201, headers: {}, text: JSON.stringify({ status: { userInfo: { username } } }) }),
  }) as unknown as KubeClient
const approve = (username: string) =>
  writeApproval({
    client: clientOf(username),
    cluster: 'hub',
    body: {
      cluster: 'hub',
      of: { kind: 'Release', name: 'fleet-1', namespace: 'kubenode-system' },
      digest: targetsDigest(release),
      reason: 'looked at it',
      until: NOW + HOUR,
    },
    now: NOW,
  })

test('an approval that counts for nothing says so, and names who is asked', async () => {
  expect((await approve('ada')).warnings).toBeUndefined()
  expect((await approve('eve')).warnings).toEqual([
    'this does not count for gate board of stage prod, which asks for 2 of: group release, ada; they run kubenode approve release/fleet-1',
  ])
})
