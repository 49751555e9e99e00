import { expect, test } from 'vitest'
import type { KubeObject } from '#schema/object.ts'
import { differenceOf, hasDifference } from './difference.ts'
import { refOf } from './object-ref.ts'
import { digestOf, type Targets } from './render/rendered.ts'

const targets = (byCluster: Readonly<Record<string, readonly KubeObject[]>>): Targets =>
  new Map(
    Object.entries(byCluster).map(([name, objects]) => [
      name,
      { objects: objects.map((object) => ({ object, ref: refOf(object), digest: digestOf(object) })), rejected: [] },
    ]),
  )
const config = (name: string, data: object, kind = 'ConfigMap'): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'd' },
  data,
})
const set = (versions: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name: 'base' },
  spec: { components: Object.entries(versions).map(([name, version]) => ({ name, version })) },
})

test('objects are added, changed and removed cluster by cluster, down to the field', () => {
  const before = targets({
    prod: [config('a', { x: '1' }), config('gone', {}), config('same', {})],
    old: [config('a', {})],
  })
  const after = targets({ prod: [config('a', { x: '2', y: '3' }), config('new', {}), config('same', {})] })
  const [old, prod] = differenceOf(before, after)
  expect(old).toMatchObject({ cluster: 'old', removed: 1 })
  expect(prod).toMatchObject({ cluster: 'prod', added: 1, changed: 1, removed: 1, unchanged: 1 })
  expect(prod?.changes.map((c) => [c.change, c.object])).toEqual([
    ['changed', 'ConfigMap/d/a'],
    ['removed', 'ConfigMap/d/gone'],
    ['added', 'ConfigMap/d/new'],
  ])
  expect(prod?.changes[0]?.fields).toEqual([
    { path: 'data.x', before: '1', after: '2' },
    { path: 'data.y', after: '3' },
  ])
})

test('entries of lists are compared by their names', () => {
  const [d] = differenceOf(
    targets({ c: [set({ scribe: '1', beacon: '1' })] }),
    targets({ c: [set({ beacon: '2', scribe: '1' })] }),
  )
  expect(d?.changes[0]?.fields).toEqual([{ path: 'spec.components[beacon].version', before: '1', after: '2' }])
})

test('values of Secrets never appear', () => {
  const all = differenceOf(
    targets({ c: [config('s', { k: 'b2xk' }, 'Secret')] }),
    targets({ c: [config('s', { k: 'bmV3' }, 'Secret')] }),
  )
  expect(JSON.stringify(all)).not.toMatch(/b2xk|bmV3/)
  expect(all[0]?.changes[0]?.fields).toEqual([{ path: 'data' }])
})

test('equal renderings have no difference', () => {
  const one = targets({ c: [config('a', {})] })
  expect(hasDifference(differenceOf(one, one))).toBe(false)
  expect(hasDifference(differenceOf(new Map(), one))).toBe(true)
})
