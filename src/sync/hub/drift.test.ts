import { describe, expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { settledClusters, standingClusters } from './drift.ts'

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

describe('clusters that the newest Release has not reached are kept at', () => {
  const made = (name: string, status: object, more: object = {}): Release => ({
    ...release(status),
    metadata: { name, namespace: 'n' },
    spec: { ...release({}).spec, commit: `commit of ${name}`, digests: { test: name }, ...more },
  })
  const at = (phase: string, digest: string) => ({ name: 'test', stage: 'first', phase, digest, healthySince: 'then' })
  const passed = (second: string) => ({ clusters: [at('Healthy', 'two')], stages: stages(second) })
  const newest = (more: object = {}) => made('three', { clusters: [at('Waiting', 'three')] }, more)
  const kept = (two: Release, ...later: readonly Release[]) => {
    const chain = [made('one', {}), two, ...later]
    return standingClusters(chain, later.at(-1) ?? two).map(([from, names]) => [from.metadata.name, names])
  }
  test.each<[string, ReturnType<typeof kept>, readonly unknown[]]>([
    ['what passed there', kept(made('two', passed('Waiting')), newest()), [['two', ['test']]]],
    ['nothing that failed elsewhere', kept(made('two', passed('Failed')), newest()), []],
    ['nothing that sync reverted', kept(made('two', { ...passed('Waiting'), revertCommit: 'd' }), newest()), []],
    [
      'nothing that a later commit reverts',
      kept(made('two', passed('Waiting')), made('back', {}, { revertOf: 'commit of two' }), newest()),
      [],
    ],
  ])('%s', (_, found, wanted) => expect(found).toEqual(wanted))
})
