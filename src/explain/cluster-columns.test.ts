import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { defined } from '#lib/defined.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { newestReleases } from './newest-releases.ts'
import { clusterCells, type ClusterKey } from './cluster-columns.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const PROD = { namespace: 'fleet', name: 'prod' }
const release = (cluster: object, commit = 'a'.repeat(40)): Release =>
  ({
    metadata: { name: `r-${commit[0]}`, namespace: 'fleet' },
    spec: { commit },
    status: { clusters: [{ name: 'prod', stage: 'prod', since: '2026-03-01T11:55:00Z', ...cluster }] },
  }) as unknown as Release
const cellsOf = (key: ClusterKey, releases: readonly Release[], status?: Cluster['status']) =>
  clusterCells(releases, NOW)(key, { metadata: {}, ...defined({ status }) })

/** The second follows the first. */
const chained = (first: object, second: object): readonly Release[] => {
  const [a, b] = [release(first), release(second, 'b'.repeat(40))]
  return [a, { ...b, spec: { ...b.spec, previous: a.metadata.name ?? '' } }]
}

test.each([
  ['it runs the commit', { phase: 'Healthy' }, ['Yes', 'aaaaaaaaaaaa', 'Healthy (5m)', '<none>']],
  [
    'it waits for its stage',
    { phase: 'Waiting', waitingFor: { predicate: 'StageWaiting', since: '2026-03-01T11:55:00Z' } },
    ['Unknown', '<none>', 'Waiting (5m)', 'StageWaiting'],
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
  ['it was skipped', { phase: 'Offline', message: 'no answer' }, ['No (5m)', '<none>', 'Offline (5m)', 'no answer']],
])('%s', (_, cluster, want) => expect(cellsOf(PROD, [release(cluster)])).toEqual(want))

test.each<[string, readonly Release[], string, string]>([
  [
    'the new one waits for its stage',
    chained({ phase: 'Healthy' }, { phase: 'Waiting' }),
    'aaaaaaaaaaaa',
    'Waiting (5m)',
  ],
  [
    'the new one is begun and nothing is applied yet',
    chained({ phase: 'Healthy' }, { phase: 'Applying' }),
    'aaaaaaaaaaaa',
    'Applying (5m)',
  ],
  ['the new one is watched', chained({ phase: 'Healthy' }, { phase: 'Verifying' }), 'bbbbbbbbbbbb', 'Verifying (5m)'],
  ['the new one failed there', chained({ phase: 'Healthy' }, { phase: 'Failed' }), 'bbbbbbbbbbbb', 'Failed (5m)'],
  [
    'it never answered, and was skipped',
    chained({ phase: 'Healthy' }, { phase: 'Offline' }),
    'aaaaaaaaaaaa',
    'Offline (5m)',
  ],
  [
    'it waits again, with what was applied',
    chained({ phase: 'Healthy' }, { phase: 'Waiting', attempts: 1 }),
    'bbbbbbbbbbbb',
    'Waiting (5m)',
  ],
  [
    'none of the Releases that are left reached it',
    chained({ phase: 'Waiting' }, { phase: 'Waiting' }),
    'cccccccccccc',
    'Waiting (5m)',
  ],
])('the commit is the one that is in the cluster: %s', (_, releases, commit, state) => {
  const object = { metadata: { annotations: { [ANNOTATIONS.commit]: 'c'.repeat(40) } } }
  expect(clusterCells(releases, NOW)(PROD, object).slice(1, 3)).toEqual([commit, state])
})

test('a Cluster that no Release has shows the commit of its object', () => {
  const object = { metadata: { annotations: { [ANNOTATIONS.commit]: 'c'.repeat(40) } } }
  expect(clusterCells([], NOW)(PROD, object)).toEqual(['Unknown', 'cccccccccccc', '<none>', '<none>'])
})

test('since when it answers is of its status', () => {
  const at = { reachableSince: new Date(NOW - 7_200_000).toISOString() }
  expect(cellsOf(PROD, [release({ phase: 'Healthy' })], at)[0]).toBe('Yes (2h)')
  expect(cellsOf(PROD, [release({ phase: 'Waiting' })], at)[0]).toBe('Yes (2h)')
  expect(cellsOf(PROD, [release({ phase: 'Offline' })], at)[0]).toMatch(/^No/)
})

test('of several tracks the worst state is shown; of an unknown cluster nothing is known', () => {
  const both = [release({ phase: 'Healthy' }), release({ phase: 'Failed', message: 'x' }, 'b'.repeat(40))]
  expect(cellsOf(PROD, both)[1]).toBe('bbbbbbbbbbbb')
  expect(cellsOf({ ...PROD, name: 'other' }, both)).toEqual(['Unknown', '<none>', '<none>', '<none>'])
})

test('a registered cluster says itself that it does not answer, also when its Release has ended or it has none', () => {
  const lastTransitionTime = new Date(NOW - 180_000).toISOString()
  const ready = { type: 'Ready' as const, status: 'Unknown' as const, lastTransitionTime, observedGeneration: 1 }
  const away = {
    phase: 'Unreachable' as const,
    conditions: [{ ...ready, reason: 'CredentialsInvalid' as const, message: 'the client certificate ended' }],
  }
  const why = 'CredentialsInvalid: the client certificate ended'
  expect(cellsOf(PROD, [], away)).toEqual(['No (3m)', '<none>', '<none>', why])
  const done = cellsOf(PROD, [release({ phase: 'Healthy' })], away)
  expect(done).toEqual(['No (3m)', 'aaaaaaaaaaaa', 'Healthy (5m)', why])
  const answers = { ...ready, status: 'True' as const, reason: 'ClusterAnswers' as const, message: 'it answers' }
  const well = { phase: 'Ready' as const, reachableSince: lastTransitionTime, conditions: [answers] }
  expect(cellsOf(PROD, [], well)).toEqual(['Yes (3m)', '<none>', '<none>', '<none>'])
})

test('what its control plane waits for stands where its Release waits for nothing', () => {
  const waitingFor = { predicate: 'NoPermit' as const, since: '2026-03-01T11:55:00Z', seen: 'limit 1' }
  const status = { phase: 'Creating' as const, waitingFor } as NonNullable<Cluster['status']>
  expect(cellsOf(PROD, [], status).at(-1)).toBe('NoPermit: limit 1')
  expect(cellsOf(PROD, [release({ phase: 'Healthy' })], status).at(-1)).toBe('NoPermit: limit 1')
  expect(cellsOf(PROD, [release({ phase: 'Failed', message: 'x' })], status).at(-1)).toBe('x')
})

test('a cluster of the same name in another namespace has other Releases', () => {
  const cells = cellsOf({ namespace: 'other', name: 'prod' }, [release({ phase: 'Failed' })])
  expect(cells).toEqual(['Unknown', '<none>', '<none>', '<none>'])
})

test('the newest Release of each namespace, also when both follow the same commits', () => {
  const of = (namespace: string, name: string, previous?: string) =>
    ({ metadata: { namespace, name }, spec: { previous }, status: {} }) as unknown as Release
  const all = [of('a', 'fleet-1'), of('a', 'fleet-2', 'fleet-1'), of('b', 'fleet-1')]
  expect(newestReleases(all)).toEqual([all[1], all[2]])
})

test.each(['False', 'Unknown'])('a Cluster that answers and is Ready %s says why in the last column', (is) => {
  const conditions = [{ type: 'Ready', status: is, reason: 'ProgramsNotServed', message: 'no programs' }]
  const status = { phase: 'Ready', conditions } as unknown as Cluster['status']
  expect(cellsOf(PROD, [], status).at(-1)).toBe('ProgramsNotServed: no programs')
  expect(cellsOf(PROD, [release({ phase: 'Healthy' })], status).at(-1)).toBe('ProgramsNotServed: no programs')
})
