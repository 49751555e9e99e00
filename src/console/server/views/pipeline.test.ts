// Which releases ask for a person's approval, given what sync reports about a gate.
import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { type Gate, judgeGate } from '#sync/release/gates.ts'
import type { AttentionRow, ReleaseRow } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { topicsOf } from '../rights.ts'
import { WATCHED_KINDS, type Watched, type WatchedKind } from '../watched-kinds.ts'
import { homeOf } from './home.ts'
import { commitRows, pipelineRows, figureOf } from './pipeline.ts'

const NOW = Date.parse('2026-02-01T00:00:00Z')

function withGate(gate: Gate) {
  const { seen } = judgeGate(gate, undefined, {
    now: NOW,
    approvedBy: [],
    baseline: undefined,
    check: undefined,
    rule: undefined,
  })
  const release = {
    metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
    spec: { source: 'fleet', track: 'fleet', pipeline: 'p', commit: 'c0ffee', digests: { prod: 'sha256:1' } },
    status: {
      phase: 'Progressing',
      stages: [
        {
          name: 'prod',
          phase: 'Waiting',
          gates: [{ name: gate.name, when: 'Before', phase: 'Waiting', since: '2026-02-01T00:00:00Z', seen }],
        },
      ],
    },
  } as unknown as Release
  const kinds = new Set(WATCHED_KINDS)
  const state = hubWith([release])
  const [home] = homeOf([{ state, topics: topicsOf(kinds), kinds }], NOW).rows
  const [row] = pipelineRows([state], NOW)
  return { weight: (home as AttentionRow).weight, asks: (row as ReleaseRow).approvals.length }
}

const hubWith = (releases: readonly Release[]): ClusterState => ({
  name: 'hub',
  state: 'Connected',
  message: undefined,
  version: undefined,
  readState: () => 'Read',
  list: <K extends WatchedKind>(kind: K) => (kind === 'releases' ? releases : []) as unknown as readonly Watched[K][],
  node: () => undefined,
  machine: () => undefined,
})

test('a release at a gate for people needs attention, and offers its approval', () => {
  const gate = { name: 'board', approval: { from: ['group:sre'], count: 1 } } as unknown as Gate
  expect(withGate(gate)).toEqual({ weight: 'Act', asks: 1 })
})

test('a release at a gate of another kind waits, and asks no person', () => {
  const gate = { name: 'ready', machinesReady: { minPercent: 98 } } as unknown as Gate
  expect(withGate(gate)).toEqual({ weight: 'Wait', asks: 0 })
})

test('a commit has its subject and author, and the one that it reverts its subject where its release is kept', () => {
  const of = (name: string, commit: string, more: object) =>
    ({
      metadata: { name, namespace: 'kubenode-system', creationTimestamp: '2026-01-31T00:00:00Z' },
      spec: { source: 'fleet', track: 'fleet', pipeline: 'p', commit, digests: {}, author: 'Ada', ...more },
    }) as unknown as Release
  const first = of('fleet-1', 'c0ffee', { subject: 'beacon 2' })
  const second = of('fleet-2', 'decaf', { subject: 'back to 1', revertOf: 'c0ffee' })
  const want = [
    { subject: 'beacon 2', author: 'Ada' },
    { subject: 'back to 1', author: 'Ada', revertOf: 'c0ffee', revertedSubject: 'beacon 2' },
  ]
  const hub = hubWith([first, second])
  expect(pipelineRows([hub], NOW)).toMatchObject(want)
  expect(commitRows([hub])).toMatchObject(want)
  expect(pipelineRows([hubWith([second])], NOW)[0]).not.toHaveProperty('revertedSubject')
})

test('who approved a release is said once, also after the approvals were deleted', () => {
  const made = {
    metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
    spec: { source: 'fleet', track: 'fleet', pipeline: 'p', commit: 'c0ffee', digests: { prod: 'sha256:1' } },
    status: { record: [{ approvedBy: ['bo', 'ada'] }, { approvedBy: ['bo'], deletions: { approvedBy: ['eve'] } }] },
  } as unknown as Release
  expect(pipelineRows([hubWith([made])], NOW)[0]).toMatchObject({ approvedBy: ['ada', 'bo', 'eve'] })
})

test.each([
  ['prod: 1 of 3 machines are consistent, 98% are needed', { have: 1, of: 3, needed: 98 }],
  ['approved by 0 of 1 (group release-board)', { have: 0, of: 1 }],
  ['no answer yet', undefined],
])('the figure of a gate that saw %j', (seen, figure) => {
  expect(figureOf(seen)).toEqual(figure)
})
