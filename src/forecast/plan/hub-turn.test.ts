import { expect, test } from 'vitest'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'
import { hubTurn, hubTurnText } from './hub-turn.ts'

const change = (kind: string, what: ObjectChange['change']): ObjectChange => ({
  change: what,
  ref: { group: 'kubenode.io', kind, namespace: 'fleet', name: 'a' },
  object: `${kind}.kubenode.io/fleet/a`,
  fields: [],
  more: 0,
})
const shown = (cluster: string, changes: readonly ObjectChange[]) => [{ cluster, changes } as ClusterDifference]
const pipelines = (...stages: readonly object[]) => ({
  pipelines: [{ spec: { stages } } as unknown as ReleasePipeline],
  clusters: [],
})
const TEST = { name: 'test', clusters: { names: ['test'] } }
const HUB = { name: 'platform', clusters: { hub: true } }

test('what changes on the hub comes first, in a stage that no pipeline has to declare', () => {
  const turn = hubTurn(shown('hub', [change('DefenderPolicy', 'changed'), change('Cluster', 'added')]), pipelines(TEST))
  expect(turn).toEqual({ stage: 'hub', objects: 2 })
  expect(turn && hubTurnText(turn)).toBe(
    'hub (stage hub): 2 objects, before any cluster; while one is refused, no cluster gets the commit',
  )
})

test('a stage that the pipeline declares has its name and its place', () => {
  const changes = shown('hub', [change('DefenderPolicy', 'changed')])
  expect(hubTurn(changes, pipelines(HUB, TEST))).toEqual({ stage: 'platform', objects: 1 })
  const last = hubTurn(changes, pipelines(TEST, HUB))
  expect(last).toEqual({ stage: 'platform', objects: 1, after: 'test' })
  expect(last && hubTurnText(last)).toBe(
    'hub (stage platform): 1 object, after stage test; while one is refused, later stages wait',
  )
})

test('a Cluster that changes or leaves is in the stage of its cluster, and other clusters are not the hub', () => {
  expect(
    hubTurn(shown('hub', [change('Cluster', 'changed'), change('Cluster', 'removed')]), pipelines()),
  ).toBeUndefined()
  expect(hubTurn(shown('test', [change('DefenderPolicy', 'added')]), pipelines())).toBeUndefined()
})
