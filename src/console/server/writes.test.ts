// Tests what a page may write: a Hold or an Approval with a reason and an end, and nothing else.
import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { holdCommand, holdFrom, writeApproval } from './writes.ts'

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
  [
    'Pause',
    { kind: 'MachineComponentSet', name: 'base' },
    "kubenode pause set/base --reason 'storage is slow' --for 1h --context prod",
  ],
  [
    'Freeze',
    { kind: 'Cluster', name: 'prod' },
    "kubenode freeze cluster/prod --reason 'storage is slow' --for 1h --context prod",
  ],
  [
    'Retry',
    { kind: 'MachineComponentSet', name: 'base' },
    "kubenode rollout retry base --reason 'storage is slow' --for 1h --context prod",
  ],
  [
    'Abort',
    { kind: 'MachineComponentSet', name: 'base' },
    /^printf '%s' '\{.*\}' \| kubectl apply --context prod -f -$/,
  ],
])('a hold with effect %s has its command, or is applied as an object', (effect, target, command) => {
  const made = holdFrom({ ...hold, effect, target }, 'ada', NOW)
  expect(holdCommand(made, 'prod', NOW + 20_000)).toEqual(
    typeof command === 'string' ? command : expect.stringMatching(command),
  )
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
const clientOf = (username: string, groups: readonly string[] = []): KubeClient =>
  ({
    get: async ({ kind }: { readonly kind: string }) => (kind === 'Release' ? release : pipeline),
    create: async (_: unknown, object: unknown) => object,
    raw: async () => ({
      status: 201,
      headers: {},
      text: JSON.stringify({ status: { userInfo: { username, groups } } }),
    }),
  }) as unknown as KubeClient
const approve = (username: string, groups: readonly string[] = [], client = clientOf(username, groups)) =>
  writeApproval({
    client,
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

test('of a person in more groups than an approval names, those that count are named', async () => {
  const groups = Array.from({ length: 200 }, (_, i) => `a-${i}`)
  expect((await approve('eve', [...groups, 'release'])).warnings).toBeUndefined()
})

test('the command of an approval has the end that was chosen', async () => {
  expect((await approve('ada')).command).toBe(
    "kubenode approve release/fleet-1 --reason 'looked at it' --context hub --for 1h",
  )
})

test('an approval that the same person gave in another window is named as such', async () => {
  const client: KubeClient = {
    ...clientOf('ada'),
    create: async () => {
      const status = { kind: 'Status', apiVersion: 'v1', code: 409, reason: 'AlreadyExists' } as const
      throw new ApiError(status as never, { action: 'create', target: 'approvals.kubenode.io/x' })
    },
  }
  await expect(approve('ada', [], client)).rejects.toThrow(/^you approved this already, in approval\/fleet-1-/)
})
