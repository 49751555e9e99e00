import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { newestReleases } from './newest-releases.ts'
import { clusterCells } from './cluster-columns.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const PROD = { namespace: 'fleet', name: 'prod' }
const release = (cluster: object, commit = 'a'.repeat(40)): Release =>
  ({
    metadata: { name: 'r', namespace: 'fleet' },
    spec: { commit },
    status: { clusters: [{ name: 'prod', stage: 'prod', since: '2026-03-01T11:55:00Z', ...cluster }] },
  }) as unknown as Release

test.each([
  ['it runs the commit', { phase: 'Healthy' }, ['Yes', 'aaaaaaaaaaaa', 'Healthy (5m)', '<none>']],
  [
    'it waits for its stage',
    { phase: 'Waiting', waitingFor: { predicate: 'StageWaiting', since: '2026-03-01T11:55:00Z' } },
    ['Unknown', 'aaaaaaaaaaaa', 'Waiting (5m)', 'StageWaiting'],
  ],
  [
    'it does not answer',
    {
      phase: 'Verifying',
      waitingFor: { predicate: 'ApiServerDown', seen: 'connect ECONNREFUSED', since: '2026-03-01T11:59:00Z' },
    },
    ['No (1m)', 'aaaaaaaaaaaa', 'Verifying (5m)', 'ApiServerDown: connect ECONNREFUSED'],
  ],
  [
    'it failed',
    { phase: 'Failed', message: 'not healthy after 10m' },
    ['Yes', 'aaaaaaaaaaaa', 'Failed (5m)', 'not healthy after 10m'],
  ],
  [
    'it was skipped',
    { phase: 'Offline', message: 'no answer' },
    ['No (5m)', 'aaaaaaaaaaaa', 'Offline (5m)', 'no answer'],
  ],
])('%s', (_, cluster, want) => expect(clusterCells(PROD, [release(cluster)], NOW)).toEqual(want))

test('since when it answers is of its status', () => {
  const at = { reachableSince: new Date(NOW - 7_200_000).toISOString() }
  expect(clusterCells(PROD, [release({ phase: 'Healthy' })], NOW, at)[0]).toBe('Yes (2h)')
  expect(clusterCells(PROD, [release({ phase: 'Waiting' })], NOW, at)[0]).toBe('Yes (2h)')
  expect(clusterCells(PROD, [release({ phase: 'Offline' })], NOW, at)[0]).toMatch(/^No/)
})

test('of several tracks the worst state is shown; of an unknown cluster nothing is known', () => {
  const both = [release({ phase: 'Healthy' }), release({ phase: 'Failed', message: 'x' }, 'b'.repeat(40))]
  expect(clusterCells(PROD, both, NOW)[1]).toBe('bbbbbbbbbbbb')
  expect(clusterCells({ ...PROD, name: 'other' }, both, NOW)).toEqual(['Unknown', '<none>', '<none>', '<none>'])
})

test('a registered cluster says itself that it does not answer, also when its Release has ended or it has none', () => {
  const lastTransitionTime = new Date(NOW - 180_000).toISOString()
  const ready = { type: 'Ready' as const, status: 'Unknown' as const, lastTransitionTime, observedGeneration: 1 }
  const away = {
    phase: 'Unreachable' as const,
    conditions: [{ ...ready, reason: 'CredentialsInvalid' as const, message: 'the client certificate ended' }],
  }
  const why = 'CredentialsInvalid: the client certificate ended'
  expect(clusterCells(PROD, [], NOW, away)).toEqual(['No (3m)', '<none>', '<none>', why])
  const done = clusterCells(PROD, [release({ phase: 'Healthy' })], NOW, away)
  expect(done).toEqual(['No (3m)', 'aaaaaaaaaaaa', 'Healthy (5m)', why])
  const answers = { ...ready, status: 'True' as const, reason: 'ClusterAnswers' as const, message: 'it answers' }
  const well = { phase: 'Ready' as const, reachableSince: lastTransitionTime, conditions: [answers] }
  expect(clusterCells(PROD, [], NOW, well)).toEqual(['Yes (3m)', '<none>', '<none>', '<none>'])
})

test('what its control plane waits for stands where its Release waits for nothing', () => {
  const waitingFor = { predicate: 'NoPermit' as const, since: '2026-03-01T11:55:00Z', seen: 'limit 1' }
  const status = { phase: 'Creating' as const, waitingFor } as NonNullable<Parameters<typeof clusterCells>[3]>
  expect(clusterCells(PROD, [], NOW, status).at(-1)).toBe('NoPermit: limit 1')
  expect(clusterCells(PROD, [release({ phase: 'Healthy' })], NOW, status).at(-1)).toBe('NoPermit: limit 1')
  expect(clusterCells(PROD, [release({ phase: 'Failed', message: 'x' })], NOW, status).at(-1)).toBe('x')
})

test('a cluster of the same name in another namespace has other Releases', () => {
  const cells = clusterCells({ namespace: 'other', name: 'prod' }, [release({ phase: 'Failed' })], NOW)
  expect(cells).toEqual(['Unknown', '<none>', '<none>', '<none>'])
})

test('the newest Release of each namespace, also when both follow the same commits', () => {
  const of = (namespace: string, name: string, previous?: string) =>
    ({ metadata: { namespace, name }, spec: { previous }, status: {} }) as unknown as Release
  const all = [of('a', 'fleet-1'), of('a', 'fleet-2', 'fleet-1'), of('b', 'fleet-1')]
  expect(newestReleases(all)).toEqual([all[1], all[2]])
})
