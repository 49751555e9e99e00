// The parts of a cluster's row that come from its Cluster object.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { topicsOf } from '../rights.ts'
import { snapshotOf } from '../topics.ts'
import { clusterRows } from './clusters.ts'

const hub = (objects: readonly Cluster[]) =>
  ({
    name: 'hub',
    state: 'Connected',
    readState: () => 'Read',
    list: (kind: string) => (kind === 'clusters' ? objects : []),
  }) as unknown as ClusterState

test('a cluster that a hub hosts shows its credentials, rotations and snapshots', () => {
  const object: Cluster = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'edge', namespace: 'fleet' },
    spec: { stage: 'prod', deletionPolicy: 'Orphan' },
    status: {
      phase: 'Ready',
      credentialsEnd: '2026-02-01T00:00:00Z',
      rotations: [
        {
          name: 'CertificateAuthority',
          phase: 'Reissuing',
          since: '2026-01-30T00:00:00Z',
          message: 'waits for 2 agents',
        },
      ],
      snapshotSchedule: {
        since: '2026-01-01T00:00:00Z',
        lastAt: '2026-01-30T00:00:00Z',
        nextAt: '2026-01-31T00:00:00Z',
        message: 'its volume is full',
      },
    },
  }
  const [, row] = clusterRows([hub([object])], new Map())
  expect(row).toMatchObject({
    name: 'edge',
    phase: 'Ready',
    credentialsEnd: Date.parse('2026-02-01T00:00:00Z'),
    rotations: [{ name: 'CertificateAuthority', phase: 'Reissuing', message: 'waits for 2 agents' }],
    snapshots: {
      last: Date.parse('2026-01-30T00:00:00Z'),
      next: Date.parse('2026-01-31T00:00:00Z'),
      message: 'its volume is full',
    },
  })
})

test.each([
  ['False', 'NotReady'],
  ['Unknown', 'Unknown'],
  ['True', 'Ready'],
] as const)('a hosted cluster whose control plane runs, with condition Ready %s, is %s', (is, shown) => {
  const at = '2026-01-30T00:00:00Z'
  const ready = { type: 'Ready', status: is, reason: 'ProgramsMissing', message: 'no programs', lastTransitionTime: at }
  const object = { metadata: { name: 'edge' }, spec: {}, status: { phase: 'Ready', conditions: [ready] } }
  const [, row] = clusterRows([hub([object as unknown as Cluster])], new Map())
  expect(row?.phase).toBe(shown)
})

test('a cluster that says nothing of them shows none', () => {
  const [row] = clusterRows([hub([])], new Map())
  expect(row).toMatchObject({ name: 'hub', rotations: [] })
  expect(row).not.toHaveProperty('credentialsEnd')
  expect(row).not.toHaveProperty('snapshots')
})

test('a cluster that does not answer is not shown as connected, although its watches have not ended yet', () => {
  const rights = { topics: topicsOf(new Set(['machines'])), kinds: new Set(['machines'] as const), seesTrouble: true }
  const readable = new Map([['hub', { ...rights, isUnknown: true as const }]])
  const topic = { of: 'Fleet', family: 'clusters' } as const
  const shown = snapshotOf(topic, 'clusters', [hub([])], readable, { revision: '1', at: 0 })
  expect(shown).toMatchObject({ rows: [{ state: 'Unreachable', message: 'the cluster does not answer' }] })
})
