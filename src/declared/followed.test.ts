import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredProblems } from './declared-problems.ts'

const object = (kind: string, spec: object): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name: 'prod', namespace: 'kubenode-system' },
  spec,
})
const source = (more: object) =>
  object('FleetSource', {
    url: 'https://git.example.org/fleet.git',
    tracks: [{ name: 'all', pipelineRef: { name: 'standard' } }],
    ...more,
  })
const cluster = (name: string) => object('Cluster', { kubeconfigSecretRef: { name }, stage: 'prod' })
const told = (o: KubeObject) => declaredProblems([o]).map((p) => [p.code, p.pointer, p.isCertain])

test('a FleetSource without spec.writes is reported: it is followed with all rights of sync', () => {
  expect(told(source({}))).toEqual([['KN1524', '/spec', false]])
  expect(told(source({ writes: { kinds: ['ConfigMap'], namespaces: ['shop'] } }))).toEqual([])
})

test('a Cluster that names the Secret of another is reported', () => {
  expect(told(cluster('cluster-test'))).toEqual([['KN3096', '/spec/kubeconfigSecretRef/name', false]])
  expect(told(cluster('cluster-prod'))).toEqual([])
})

const plane = (controlPlane: object, more: object = {}) =>
  object('Cluster', { version: '1.36.0', controlPlane: { flavor: 'embedded', ...controlPlane }, ...more })

test('what the hub would refuse of a Cluster is reported before the merge', () => {
  expect(told(plane({}))).toEqual([])
  expect(told(plane({ snapshots: { every: '5m' } }))).toEqual([])
  expect(told(plane({ snapshots: { every: '1m' } }))).toEqual([['KN3098', '/spec', false]])
  expect(told(plane({}, { addons: [{ name: 'nothing', version: '1.0.0' }] }))).toEqual([['KN3098', '/spec', false]])
})

test('a Cluster with the name of the hub is refused', () => {
  const named = plane({})
  expect(told({ ...named, metadata: { ...named.metadata, name: 'hub' } })).toEqual([['KN3097', '/metadata/name', true]])
})
