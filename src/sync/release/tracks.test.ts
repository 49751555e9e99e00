import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { RenderedTarget } from '#delivery/desired.ts'
import { isInFleet, targetDigest, targetFor, withEmptied } from './tracks.ts'

const target = (kind: string, name: string, group = 'kubenode.io'): RenderedTarget => {
  const ref = { group, kind, namespace: 'kubenode-system', name }
  return { objects: [{ ref, object: { apiVersion: 'v1', kind, metadata: { name } }, digest: 'd' }], rejected: [] }
}
const rejected = (name: string): RenderedTarget => {
  const [object] = target('Cluster', name).objects
  return { objects: [], rejected: [{ ref: object!.ref, problem: 'p' }] }
}
const live = (source?: string, more: object = {}) =>
  ({ metadata: { annotations: source === undefined ? {} : { 'kubenode.io/source': source }, ...more } }) as Cluster

test.each<[string, RenderedTarget | undefined, Cluster | undefined, boolean]>([
  ['declared, not made yet', target('Cluster', 'a'), undefined, true],
  ['declared, but not valid', rejected('a'), undefined, true],
  ['of another API group', target('Cluster', 'a', 'cluster.x-k8s.io'), undefined, false],
  ['of another name', target('Cluster', 'b'), undefined, false],
  ['taken out of git, not yet deleted', target('Cluster', 'b'), live('fleet/own'), false],
  ['registered by hand', undefined, live(), true],
  ['registered by another source', undefined, live('fleet/other'), true],
  ['being deleted', undefined, live(undefined, { deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ['gone', undefined, undefined, false],
])('a cluster that is %s', (_, declared, found, isIn) => {
  expect(isInFleet('a', { declared, live: found, source: 'fleet/own' })).toBe(isIn)
})

test('a cluster that had objects and gets none now is a target without objects', () => {
  const targets = new Map([['a', target('ConfigMap', 'x', '')]])
  const all = withEmptied(targets, { a: '1', b: '2', gone: '3' }, (name) => name !== 'gone')
  expect([...all.keys()]).toEqual(['a', 'b'])
  const nothing = targetDigest(all.get('b')!)
  expect(targetFor(targets, 'b', nothing)).toEqual({ objects: [], rejected: [] })
  expect(targetFor(targets, 'b', '2')).toBeUndefined()
  expect(targetFor(targets, 'a', nothing)).toBeUndefined()
})
