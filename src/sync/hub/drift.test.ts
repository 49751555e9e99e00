import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { settledClusters } from './drift.ts'

const release = (status: object): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c', digests: {} },
  status,
})
const clusters = [
  { name: 'hub', stage: 'first', phase: 'Healthy' },
  { name: 'test', stage: 'first', phase: 'Healthy' },
  { name: 'same', stage: 'first', phase: 'Unchanged' },
  { name: 'away', stage: 'first', phase: 'Offline' },
  { name: 'soaking', stage: 'second', phase: 'Healthy' },
  { name: 'prod', stage: 'third', phase: 'Waiting' },
]
const stages = (second: string) => [
  { name: 'first', phase: 'Succeeded' },
  { name: 'second', phase: second },
  { name: 'third', phase: 'Waiting' },
]

test.each([
  [
    'those of finished stages while it goes on',
    { phase: 'Progressing', clusters, stages: stages('Soaking') },
    ['test', 'same'],
  ],
  [
    'the hub too once it is over',
    { phase: 'Succeeded', clusters: clusters.slice(0, 3), stages: [] },
    ['hub', 'test', 'same'],
  ],
  ['none once a stage has failed', { phase: 'Paused', clusters, stages: stages('Failed') }, []],
  ['none once it is reverted', { phase: 'Paused', clusters, stages: stages('Soaking'), revertCommit: 'd' }, []],
  ['none of a new one', {}, []],
])('clusters that are kept at the newest release: %s', (_, status, kept) => {
  expect(settledClusters(release(status))).toEqual(kept)
})
