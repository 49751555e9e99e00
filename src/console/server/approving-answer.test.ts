// What is read for an approval: with the user's own rights, and only for what the object requests now.
import { expect, test } from 'vitest'
import type { KubeClient, ListOptions } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { answerApproving } from './approving-answer.ts'

const release = {
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kn', creationTimestamp: '2026-01-31T10:00:00Z' },
  spec: { source: 'fleet', track: 'fleet', pipeline: 'p', commit: 'c'.repeat(40), digests: { prod: 'a' } },
  status: {
    phase: 'Progressing',
    stages: [{ name: 'prod', phase: 'Waiting' }],
    clusters: [{ name: 'prod', stage: 'prod', phase: 'Waiting' }],
  },
}
const digest = targetsDigest(release)
const pipeline = {
  metadata: { name: 'p' },
  spec: { stages: [{ name: 'prod', before: [{ name: 'board', approval: { from: ['group:board'], count: 2 } }] }] },
}
const LISTS: Readonly<Record<string, readonly object[]>> = {
  Approval: [
    {
      metadata: { name: 'a', creationTimestamp: '2026-01-31T11:00:00Z' },
      spec: { digest, by: 'bob', groups: ['board'] },
    },
  ],
  Cluster: [{ metadata: { name: 'prod' }, status: { machines: { total: 3 } } }],
  Release: [release],
}

const selectors = new Map<string, string>()
const clientWithout = (...forbidden: readonly string[]): KubeClient => {
  const checked = <T>(kind: string, value: T): T => {
    if (!forbidden.includes(kind)) return value
    const status = { kind: 'Status', apiVersion: 'v1', code: 403, reason: 'Forbidden' } as const
    throw new ApiError(status as never, { action: 'list', target: kind })
  }
  return {
    get: async ({ kind }: { readonly kind: string }) => checked(kind, kind === 'Release' ? release : pipeline),
    list: async ({ kind }: { readonly kind: string }, { fieldSelector = '' }: ListOptions = {}) => {
      selectors.set(kind, fieldSelector)
      return checked(kind, { items: LISTS[kind] ?? [] })
    },
    raw: async () => ({
      status: 201,
      headers: {},
      text: JSON.stringify({ status: { userInfo: { username: 'ada', groups: ['board'] } } }),
    }),
  } as unknown as KubeClient
}

const answer = (client: KubeClient, named: Readonly<Record<string, string>> = {}) =>
  answerApproving({
    client,
    query: new URLSearchParams({ kind: 'Release', name: 'fleet-1', namespace: 'kn', digest, ...named }),
    machine: () => undefined,
    now: Date.parse('2026-01-31T12:00:00Z'),
  })

test('the clusters, the approvals and the missing ones are read', async () => {
  const { effects, given, asks } = await answer(clientWithout())
  expect(effects[1]?.on).toEqual(['prod, 3 machines, Waiting'])
  expect(given).toMatchObject([{ by: 'bob', state: 'Counts' }])
  expect(asks).toMatchObject([{ name: 'gate board of stage prod', needed: 2, missing: 1, isYours: true }])
})

test('of the approvals and releases of a hub only those of this content and this track are read', async () => {
  await answer(clientWithout())
  expect([selectors.get('Approval'), selectors.get('Release')]).toEqual([`spec.digest=${digest}`, 'spec.track=fleet'])
})

test('what the user may not read is not known', async () => {
  const { effects, given, asks } = await answer(clientWithout('Approval', 'Cluster', 'ReleasePipeline'))
  expect(effects[1]?.on).toEqual(['prod, number of machines unknown, Waiting'])
  expect(given).toBeUndefined()
  expect(asks).toEqual([{ name: 'who has to approve', unknown: 'you may not read the pipeline' }])
})

test.each([
  ['a digest that is no longer requested', { digest: 'f'.repeat(64) }, 'no longer asks for this approval'],
  ['a kind that nobody approves', { kind: 'Secret' }, 'kind must be one of'],
  ['a name that is a path', { name: '../../secrets' }, 'not the name of an object'],
])('%s is refused', async (_, named, message) => {
  await expect(answer(clientWithout(), named)).rejects.toThrow(message)
})

test('an object that the user may not read is refused', async () => {
  await expect(answer(clientWithout('Release'))).rejects.toMatchObject({ status: 403 })
})
