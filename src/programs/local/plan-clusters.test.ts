import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { planClusters } from './plan-clusters.ts'

interface Wish {
  readonly uid?: string
  readonly namespace?: string
  readonly ready?: string
  readonly phase?: string
  readonly isRegistered?: boolean
}

const cluster = (name: string, wish: Wish = {}): Cluster => {
  const { uid = `uid-${name}`, namespace = 'kubenode-system', ready = 'True', phase = 'Ready', isRegistered } = wish
  return {
    metadata: { name, namespace, uid },
    spec: isRegistered === true ? { kubeconfigSecretRef: { name: 'x' } } : { controlPlane: { flavor: 'embedded' } },
    status: { phase, conditions: [{ type: 'Ready', status: ready }] },
  } as unknown as Cluster
}
const here = (name: string, uid = `uid-${name}`) => ({ name, id: `kubenode-system.${name}`, uid })
const nothing = { starting: [], ending: [], removed: [], refused: [] }

test('a cluster gets programs once its API server answers and has the kinds, and only once', () => {
  expect(planClusters([cluster('a', { ready: 'False', phase: 'Creating' })], [], [])).toEqual(nothing)
  expect(planClusters([cluster('a', { phase: 'Addons' })], [], [])).toEqual(nothing)
  expect(planClusters([cluster('a')], [], [])).toEqual({ ...nothing, starting: [here('a')] })
  expect(planClusters([cluster('a')], [here('a')], ['a'])).toEqual(nothing)
})

test('one whose host does not answer for a while keeps its programs', () => {
  expect(planClusters([cluster('a', { ready: 'Unknown' })], [here('a')], ['a'])).toEqual(nothing)
})

test('one that expired loses its programs and keeps its folder', () => {
  const expired = cluster('a', { ready: 'False', phase: 'Expired' })
  expect(planClusters([expired], [here('a')], ['a'])).toEqual({ ...nothing, ending: ['a'] })
  expect(planClusters([expired], [], ['a'])).toEqual(nothing)
})

test('one that is gone leaves nothing, also when nothing was known of it', () => {
  expect(planClusters([], [here('a')], ['a', 'b'])).toEqual({ ...nothing, ending: ['a'], removed: ['a', 'b'] })
})

test('another Cluster of the name gets programs of its own', () => {
  const next = cluster('a', { uid: 'other' })
  expect(planClusters([next], [here('a')], ['a'])).toEqual({
    ...nothing,
    ending: ['a'],
    starting: [here('a', 'other')],
  })
})

test('a Cluster of another namespace has a folder of its own; a registered one runs elsewhere', () => {
  const theirs = cluster('a', { namespace: 'team' })
  expect(planClusters([theirs, cluster('b', { isRegistered: true })], [], []).starting).toEqual([
    { name: 'team.a', id: 'team.a', uid: 'uid-a' },
  ])
})

test('a name that no folder can have is refused with the reason', () => {
  expect(planClusters([cluster('hub')], [], [])).toEqual({
    ...nothing,
    refused: [{ name: 'hub', why: 'the name is taken' }],
  })
})
