import { describe, expect, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'
import { hasDeletions } from './losses.ts'
import { summaryText } from './spans.ts'
import { lossTexts } from './text.ts'

const removed = (kind: string, group = API_GROUP): ObjectChange => ({
  change: 'removed',
  ref: { group, kind, namespace: '', name: 'x' },
  object: `${kind}/x`,
  fields: [],
  more: 0,
})
const differs = (changes: readonly ObjectChange[], deleted = 0): readonly ClusterDifference[] => [
  {
    cluster: 'hub',
    added: 0,
    changed: 0,
    removed: changes.length,
    unchanged: 0,
    changes,
    problems: [],
    machines: { deleted, sets: [], single: [] },
  },
]

const uncounted = differs([removed('MachineSet')]).map((d) => ({
  ...d,
  machines: {
    ...d.machines,
    uncounted: [
      { set: 'a', why: 'NoReplicas' as const },
      { set: 'b', why: 'Invalid' as const, to: 3 },
    ],
  },
}))

test('machines that git does not count are told, with the reason', () => {
  const [difference] = uncounted
  expect(difference === undefined ? [] : lossTexts(difference)).toEqual([
    'deletes MachineSet a with all of its machines that no other set takes over; the base does not set its replicas, so their number is unknown',
    'gives MachineSet b 3 machines and deletes those that it has beyond; the base declares it invalid, so their number is unknown',
  ])
  expect(summaryText(uncounted, undefined)).toBe('1 cluster · may delete machines, unknown how many · machines unknown')
})

describe('--fail-on deletions', () => {
  test.each<[string, readonly ClusterDifference[], boolean]>([
    ['machines', differs([], 2), true],
    ['a Cluster, whose machines joined by themselves', differs([removed('Cluster')]), true],
    ['a Namespace with everything in it', differs([removed('Namespace', '')]), true],
    ['a volume', differs([removed('PersistentVolumeClaim', '')]), true],
    ['a kind', differs([removed('CustomResourceDefinition', 'apiextensions.k8s.io')]), true],
    ['a set of components', differs([removed('MachineComponentSet')]), true],
    ['a MachineSet whose machines another one takes over', differs([removed('MachineSet')]), false],
    ['machines that git does not count', uncounted, true],
    ['a rule', differs([removed('NodeRemedier')]), false],
  ])('%s', (_, all, is) => expect(hasDeletions(all, undefined)).toBe(is))

  test('what waits for an approval of the prune guard', () => {
    const promised = [{}] as unknown as NonNullable<Parameters<typeof hasDeletions>[1]>['promised']
    expect(hasDeletions(differs([removed('ConfigMap', '')]), { promised, unknown: [] })).toBe(true)
  })
})

test('the line of the commit status names clusters that are deleted', () => {
  expect(summaryText(differs([removed('Cluster')]), undefined)).toBe('1 cluster · deletes 1 cluster · machines unknown')
  const left = differs([]).map((d) => ({ ...d, cluster: 'x', removed: 0, isLeft: true as const }))
  expect(summaryText([...differs([removed('Cluster')]), ...left], undefined)).toBe(
    '1 cluster · 1 cluster leaves the fleet · machines unknown',
  )
})
