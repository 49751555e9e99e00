import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { ofLiveClusters } from './live-clusters.ts'

const MADE = '2026-11-25T12:00:00Z'
const cluster = {
  metadata: { name: 'a', uid: 'u-2', creationTimestamp: MADE },
  status: { restored: 'one/1' },
} as Cluster
const entry = {
  name: 'a',
  stage: 's',
  phase: 'Healthy',
  since: '2026-11-25T12:30:00Z',
  digest: 'd',
  attempts: 1,
} as const
const phaseOf = (more: object, live: Cluster | undefined) =>
  ofLiveClusters({ status: { clusters: [{ ...entry, ...more }] } } as unknown as Release, () => live).status?.clusters

test.each<[string, object, Cluster | undefined]>([
  ['it is the same, and restored as then', { uid: 'u-2', restored: 'one/1' }, cluster],
  ['it is not on the hub now', { uid: 'u-1' }, undefined],
  ['an earlier version wrote it, after the cluster was made', {}, cluster],
])('an entry counts: %s', (_, more, live) => {
  expect(phaseOf(more, live)).toEqual([{ ...entry, ...more }])
})

test.each<[string, object]>([
  ['another cluster had the name', { uid: 'u-1', restored: 'one/1' }],
  ['it was restored since', { uid: 'u-2' }],
  ['an earlier version wrote it, before the cluster was made', { since: '2026-11-25T11:59:59Z' }],
])('an entry counts for nothing: %s', (_, more) => {
  const { since } = { ...entry, ...more }
  expect(phaseOf(more, cluster)).toEqual([{ name: 'a', stage: 's', phase: 'Waiting', since }])
})
