// Tests which releases ask a person, with what sync itself reports of a gate.
import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { type Gate, judgeGate } from '#sync/release/gates.ts'
import type { AttentionRow, ReleaseRow } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { topicsOf } from '../rights.ts'
import { WATCHED_KINDS, type Watched, type WatchedKind } from '../watched-kinds.ts'
import { homeOf } from './home.ts'
import { pipelineRows } from './pipeline.ts'

const NOW = Date.parse('2026-02-01T00:00:00Z')

function withGate(gate: Gate) {
  const { seen } = judgeGate(gate, undefined, {
    now: NOW,
    approvedBy: [],
    baseline: undefined,
    look: undefined,
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
  const state: ClusterState = {
    name: 'hub',
    state: 'Connected',
    message: undefined,
    version: undefined,
    readState: () => 'Read',
    list: <K extends WatchedKind>(kind: K) =>
      (kind === 'releases' ? [release] : []) as unknown as readonly Watched[K][],
    node: () => undefined,
    machine: () => undefined,
  }
  const [home] = homeOf([{ state, topics: topicsOf(kinds), kinds }], NOW).rows
  const [row] = pipelineRows([state], NOW)
  return { weight: (home as AttentionRow).weight, asks: (row as ReleaseRow).approvals.length }
}

test('a release at a gate for people needs attention, and offers its approval', () => {
  const gate = { name: 'board', approval: { from: ['group:sre'], count: 1 } } as unknown as Gate
  expect(withGate(gate)).toEqual({ weight: 'Act', asks: 1 })
})

test('a release at a gate of another kind waits, and asks no person', () => {
  const gate = { name: 'ready', machinesReady: { minPercent: 98 } } as unknown as Gate
  expect(withGate(gate)).toEqual({ weight: 'Wait', asks: 0 })
})
