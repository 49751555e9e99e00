import { expect, test } from 'vitest'
import type { Approval } from '#api/kinds/approval.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { DIGEST_OF_LEAVING, targetsDigest } from '#sync/release/tracks.ts'
import { clusterHistoryRows, fleetHistoryRows } from './cluster-history.ts'
import { historyOf, historyRow } from './history.ts'

const T = (minute: number) => `2026-01-31T12:${String(minute).padStart(2, '0')}:00Z`
const [A, B] = ['a'.repeat(40), 'b'.repeat(40)] as const
const digests = { x: '1'.repeat(64), y: '2'.repeat(64) }
const OTHER = { x: '1'.repeat(64), y: '3'.repeat(64) }

const release = (name: string, commit: string, minute: number, status: ReleaseStatus, more = {}): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'kubenode-system', creationTimestamp: T(minute) },
  spec: { source: 's', track: 'fleet', pipeline: 'p', commit, digests, ...more },
  status,
})

const bad = release('fleet-a', A, 0, {
  phase: 'Reverted',
  startedAt: T(0),
  finishedAt: T(9),
  revertCommit: B,
  stages: [
    {
      name: 'test',
      phase: 'Failed',
      gates: [
        { when: 'Before', name: 'board', phase: 'Passed', since: T(0) },
        { when: 'During', name: 'errors', phase: 'Failed', since: T(1) },
      ],
    },
    { name: 'prod', phase: 'Waiting' },
  ],
  clusters: [
    { name: 'x', stage: 'test', phase: 'Failed', since: T(7), digest: '1'.repeat(64) },
    { name: 'y', stage: 'prod', phase: 'Waiting', since: T(0) },
  ],
})
const revert = release(
  'fleet-b',
  B,
  9,
  {
    phase: 'Succeeded',
    startedAt: T(9),
    finishedAt: T(11),
    clusters: [
      { name: 'x', stage: 'test', phase: 'Healthy', since: T(9), healthySince: T(10), digest: '1'.repeat(64) },
      { name: 'y', stage: 'prod', phase: 'Unchanged', since: T(9) },
    ],
  },
  { revertOf: A, previous: 'fleet-a', digests: OTHER },
)
const approvals = [
  { metadata: { name: 'a', creationTimestamp: T(1) }, spec: { digest: targetsDigest(bad), by: 'bob' } } as Approval,
]
const seen = { releases: [bad, revert], approvals }

test('the history of the fleet has each commit with its gates, approvers and end, the newest first', () => {
  expect(fleetHistoryRows(seen)).toEqual([
    [T(9), '2m', 'b'.repeat(12), 'fleet', 'y', `Succeeded, reverts ${'a'.repeat(12)}`, '2/2', '-', '-'],
    [
      T(0),
      '9m',
      'a'.repeat(12),
      'fleet',
      'x, y',
      `Reverted by ${'b'.repeat(12)}`,
      '0/2',
      'board, errors (Failed)',
      'bob',
    ],
  ])
})

test('both call commits by their titles, those that they revert too', () => {
  const titled = (of: Release, subject: string): Release => ({ ...of, spec: { ...of.spec, subject, author: 'Ada' } })
  const known = { ...seen, releases: [titled(bad, 'beacon 2'), titled(revert, 'Revert "beacon 2"')] }
  const [first, last] = ['aaaaaaaaaaaa "beacon 2" by Ada', 'bbbbbbbbbbbb "Revert "beacon 2"" by Ada']
  const want = [
    [last, `Succeeded, reverts ${first}`],
    [first, `Reverted by ${last}`],
  ]
  expect(fleetHistoryRows(known).map((r) => [r[2], r[5]])).toEqual(want)
  expect(clusterHistoryRows('x', known).map((r) => [r[1], r[6]])).toEqual(want)
  expect(
    historyOf(known.releases, undefined).map((r) => [2, 5].map((i) => historyRow(r, known.releases, 0)[i])),
  ).toEqual([
    [last, first],
    [first, ''],
  ])
})

test.each<[string, object, object, number | undefined, string]>([
  ['none', { x: '1', y: '1' }, { x: '1', y: '1' }, 0, 'none'],
  ['the hub and a new cluster', { hub: '1', x: '1' }, { hub: '2', x: '1', z: '1' }, 2, 'hub, z'],
  ['one that left', { x: '1', y: '1' }, { x: '2' }, 1, 'x, y (left)'],
  ['more than are named', {}, { a: '1', b: '1', c: '1', d: '1', e: '1' }, 5, 'a, b, c and 2 more'],
])('which clusters a commit changed: %s', (_, before, now, changed, want) => {
  const [older, newer] = [
    release('fleet-a', A, 0, {}, { digests: before }),
    release('fleet-b', B, 1, {}, { digests: now, previous: 'fleet-a', changed }),
  ]
  const cells = (releases: readonly Release[]) => fleetHistoryRows({ releases, approvals: [] })[0]?.[4]
  expect(cells([older, newer])).toBe(want)
  // Its predecessor is deleted: only the number is left.
  expect(cells([newer])).toBe(changed === 1 ? '1 cluster' : `${changed ?? 0} clusters`)
})

test('the history of a cluster has what happened there', () => {
  expect(clusterHistoryRows('x', seen)).toEqual([
    [
      T(10),
      'b'.repeat(12),
      'fleet',
      'no',
      'test',
      'Healthy',
      `Succeeded, reverts ${'a'.repeat(12)}`,
      '1'.repeat(12),
      '-',
      '-',
    ],
    [
      T(7),
      'a'.repeat(12),
      'fleet',
      'yes',
      'test',
      'Failed',
      `Reverted by ${'b'.repeat(12)}`,
      '1'.repeat(12),
      'board, errors (Failed)',
      'bob',
    ],
  ])
  expect(clusterHistoryRows('y', seen).map((r) => r[5])).toEqual(['Unchanged', 'Waiting'])
  expect(clusterHistoryRows('z', seen)).toEqual([])
})

test('who approved is shown also after the Approvals were deleted', () => {
  const entry = {
    commit: A,
    cluster: 'x',
    stage: 'test',
    digest: '1'.repeat(64),
    phase: 'Failed',
    startedAt: T(0),
    approvedBy: ['ada', 'bob'],
  } as const
  const recorded = { ...bad, status: { ...bad.status, record: [entry] } }
  const by = (rows: readonly (readonly string[])[]) => rows.map((r) => r.at(-1))
  for (const left of [[], approvals]) {
    const now = { ...seen, releases: [recorded], approvals: left }
    expect([by(fleetHistoryRows(now)), by(clusterHistoryRows('x', now))]).toEqual([['ada, bob'], ['ada, bob']])
  }
})

test('an Approval is of the Release of its time: content that came back is not approved by it, nor is what it replaced', () => {
  const again = release('fleet-c', 'c'.repeat(40), 20, {}, { previous: 'fleet-b' })
  const releases = [bad, revert, again]
  const approvers = (minute: number) =>
    fleetHistoryRows({
      releases,
      approvals: approvals.map((a) => ({ ...a, metadata: { name: 'a', creationTimestamp: T(minute) } })),
    }).map((row) => row.at(-1))
  expect(approvers(1)).toEqual(['-', '-', 'bob'])
  expect(approvers(10)).toEqual(['bob', '-', '-'])
  expect(approvers(21)).toEqual(['bob', '-', '-'])
})

test('what a commit did to the hub is a row before that of its Release, and has one without a Release too', () => {
  const record = (commit: string, minute: number, more: object) => ({
    commit,
    track: 'fleet',
    digest: 'd',
    phase: 'Succeeded',
    startedAt: T(minute),
    finishedAt: T(minute),
    applied: 2,
    deleted: 0,
    ...more,
  })
  const hub = [
    record('d'.repeat(40), 20, { phase: 'Failed', finishedAt: undefined, message: 'hub: ConfigMap/x/a: forbidden' }),
    record('c'.repeat(40), 15, {
      subject: 'policies',
      author: 'Ada',
      deleted: 4,
      deletedClusters: ['old'],
      approvedBy: ['bob'],
    }),
    record(A, 0, {}),
  ]
  const source = { metadata: { name: 's' }, spec: {}, status: { hub } } as unknown as FleetSource
  const rows = fleetHistoryRows({ ...seen, sources: [source] })
  expect(rows.map((r) => [r[1], r[2]?.slice(0, 12), r[4], r[5], r[8]])).toEqual([
    ['-', 'd'.repeat(12), 'hub', 'Failed: hub: ConfigMap/x/a: forbidden (2 objects applied, 0 deleted)', '-'],
    ['0s', 'c'.repeat(12), 'hub', 'Succeeded: 2 objects applied, 4 deleted, among them cluster/old', 'bob'],
    ['2m', 'b'.repeat(12), 'y', `Succeeded, reverts ${'a'.repeat(12)}`, '-'],
    ['9m', 'a'.repeat(12), 'x, y', `Reverted by ${'b'.repeat(12)}`, 'bob'],
    ['0s', 'a'.repeat(12), 'hub', 'Succeeded: 2 objects applied, 0 deleted', '-'],
  ])
})

test('a Cluster that a commit deletes is named, and is no change of the commit after it', () => {
  const leaving = release(
    'fleet-c',
    'c'.repeat(40),
    12,
    {},
    { previous: 'fleet-b', digests: { ...OTHER, y: DIGEST_OF_LEAVING } },
  )
  const next = release('fleet-d', 'd'.repeat(40), 14, {}, { previous: 'fleet-c', digests: { x: '4'.repeat(64) } })
  const rows = fleetHistoryRows({ ...seen, releases: [bad, revert, leaving, next] })
  expect(rows.slice(0, 2).map((r) => r[4])).toEqual(['x', 'y (deleted)'])
})
