import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { labelsAfter, memberOf, stageAt } from './members.ts'

test.each<[string, object, boolean]>([
  ['its name is listed', { names: ['prod'] }, true],
  ['another name is listed', { names: ['test'] }, false],
  ['its field is selected', { selector: { matchLabels: { 'kubenode.io/stage': 'late' } } }, true],
  ['another stage is selected', { selector: { matchLabels: { 'kubenode.io/stage': 'early' } } }, false],
  ['the hub is meant', { hub: true }, false],
])('a Cluster is in a stage where %s: %j', (_, clusters, isIn) => {
  const live = { metadata: { name: 'prod' }, spec: { stage: 'late' } } as unknown as Cluster
  const stages = [{ name: 's', clusters }] as unknown as ReleasePipelineSpec['stages']
  expect(stageAt(stages, memberOf(live))).toBe(isIn ? 0 : -1)
})

test('a Cluster keeps the labels of other writers, and loses those that git no longer declares', () => {
  const of = (labels: object, stage?: string) => ({ metadata: { labels }, spec: { stage } }) as unknown as Cluster
  const live = of({ zone: 'a', team: 'x' }, 'prod')
  const managedFields = [
    {
      manager: 'kubenode-sync.fleet.main',
      operation: 'Apply',
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:team': {} } } },
    },
  ] as const
  const owned = { ...live, metadata: { ...live.metadata, managedFields } }
  expect(labelsAfter(owned, of({}))).toEqual({ zone: 'a' })
  expect(labelsAfter(owned, of({ team: 'y' }, 'test'))).toEqual({ zone: 'a', team: 'y', 'kubenode.io/stage': 'test' })
  expect(labelsAfter(live, of({}))).toEqual({})
})
