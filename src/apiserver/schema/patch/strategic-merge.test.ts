// Strategic merge patches and their outcome as recorded from a real kube-apiserver 1.36, and the directives that the recordings do not show.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEPLOYMENT, NODE, SERVICE } from '../../../../test/support/schema/test-kinds.ts'
import type { Schema } from '#api/schema/schema.ts'
import { strategicMerge } from './strategic-merge.ts'
import { failureOf, frozen } from '../../../../test/support/schema/test-patches.ts'

const POD_SPEC = frozen({
  containers: [
    {
      name: 'a',
      image: 'i/a:1',
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      ports: [
        { containerPort: 80, protocol: 'TCP' },
        { containerPort: 81, protocol: 'UDP' },
      ],
      args: ['x', 'y'],
    },
    { name: 'b', image: 'i/b:1' },
  ],
  volumes: [
    { name: 'v', emptyDir: {} },
    { name: 'w', configMap: { name: 'c', defaultMode: 420 } },
  ],
  tolerations: [{ key: 't1', operator: 'Exists' }],
  hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }],
  nodeSelector: { z: '1', y: '2' },
})

describe('strategic merge patch of a pod template', () => {
  const target = frozen({ spec: { template: { spec: POD_SPEC } } })
  const patched = (spec: unknown): typeof POD_SPEC => {
    const patch = frozen({ spec: { template: { spec } } })
    return (strategicMerge(DEPLOYMENT, target, patch) as { spec: { template: { spec: typeof POD_SPEC } } }).spec
      .template.spec
  }
  const container = (fields: unknown): unknown => ({ containers: [{ name: 'a', ...(fields as object) }] })
  const inFirst = (field: 'env' | 'ports' | 'args', spec: unknown): unknown => patched(spec).containers[0]?.[field]

  test('env merges by name', () => {
    const spec = container({
      env: [
        { name: 'B', value: '9' },
        { name: 'C', value: '3' },
      ],
    })
    expect(inFirst('env', spec)).toEqual([
      { name: 'A', value: '1' },
      { name: 'B', value: '9' },
      { name: 'C', value: '3' },
    ])
    expect(inFirst('args', spec)).toBe(POD_SPEC.containers[0]?.args)
  })

  test('ports merge by containerPort, new ones before those that only the object has', () => {
    expect(
      inFirst('ports', container({ ports: [{ containerPort: 80, name: 'http' }, { containerPort: 90 }] })),
    ).toEqual([
      { containerPort: 80, protocol: 'TCP', name: 'http' },
      { containerPort: 90 },
      { containerPort: 81, protocol: 'UDP' },
    ])
  })

  test('args are replaced', () => {
    expect(inFirst('args', container({ args: ['z'] }))).toEqual(['z'])
  })

  test('a volume keeps only the keys that $retainKeys names', () => {
    const volume = { $retainKeys: ['name', 'hostPath'], name: 'v', hostPath: { path: '/x' } }
    expect(patched({ volumes: [volume] }).volumes).toEqual([
      { name: 'v', hostPath: { path: '/x' } },
      { name: 'w', configMap: { name: 'c', defaultMode: 420 } },
    ])
  })

  test('$retainKeys must name all that the patch sets', () => {
    const volume = { $retainKeys: ['name'], name: 'v', hostPath: { path: '/x' } }
    expect(failureOf(() => patched({ volumes: [volume] }))).toEqual({
      kind: 'NotAPatch',
      httpCode: 400,
      statusMessage: 'invalid patch format of retainKeys',
    })
  })

  test.each<[string, unknown, unknown]>([
    ['$patch: replace replaces a map', { $patch: 'replace', q: '1' }, { q: '1' }],
    ['$patch: delete empties a map', { $patch: 'delete' }, {}],
    ['null removes a key', { z: null }, { y: '2' }],
    ['null removes the map', null, undefined],
  ])('%s', (_, nodeSelector, expected) => {
    expect(patched({ nodeSelector }).nodeSelector).toEqual(expected)
  })

  test('null removes a list', () => {
    expect(patched({ hostAliases: null })).not.toHaveProperty('hostAliases')
  })

  test('$patch: delete takes an item out of a list', () => {
    expect(patched({ containers: [{ name: 'b', $patch: 'delete' }] }).containers).toEqual([POD_SPEC.containers[0]])
  })

  test('$patch: replace makes the patch list the whole list', () => {
    expect(patched({ containers: [{ name: 'z' }, { $patch: 'replace' }] }).containers).toEqual([{ name: 'z' }])
  })

  test('$setElementOrder orders the list and leaves others in place', () => {
    const spec = {
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'n' }, { name: 'a' }],
      containers: [{ name: 'n', image: 'new' }],
    }
    expect(patched(spec).containers.map((c) => c.name)).toEqual(['b', 'n', 'a'])
  })

  test('a patch list in another order than it announces is refused', () => {
    const spec = {
      '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
      containers: [{ name: 'b' }, { name: 'a' }],
    }
    expect(failureOf(() => patched(spec)).httpCode).toBe(500)
  })

  test.each<[string, unknown, string]>([
    [
      'an unknown $patch',
      { name: 'b', $patch: 'explode' },
      'unknown patch type: explode in map: map[$patch:explode name:b]',
    ],
    ['an item without its merge key', { image: 'x' }, 'map: map[image:x] does not contain declared merge key: name'],
  ])('%s is an error of the server', (_, item, statusMessage) => {
    const failure = failureOf(() => patched({ containers: [item] }))
    expect(failure).toEqual({ kind: 'Internal', httpCode: 500, statusMessage })
  })

  test('new content carries neither nulls nor directives', () => {
    expect(strategicMerge(DEPLOYMENT, {}, { spec: { a: { b: null, c: 1 }, d: { $patch: 'delete' } } })).toEqual({
      spec: { a: { c: 1 } },
    })
  })

  test('a patch that changes nothing returns the very object', () => {
    expect(strategicMerge(DEPLOYMENT, target, { spec: { template: { spec: container({ image: 'i/a:1' }) } } })).toBe(
      target,
    )
  })
})

describe('strategic merge patch of other kinds', () => {
  const META: Schema = DEPLOYMENT
  test.each<[string, Schema | undefined, unknown, unknown, unknown]>([
    [
      '$deleteFromPrimitiveList takes items out of a set',
      META,
      { metadata: { finalizers: ['x.io/a', 'x.io/b', 'x.io/c'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['x.io/b'] } },
      { metadata: { finalizers: ['x.io/a', 'x.io/c'] } },
    ],
    [
      'finalizers merge as a set, new ones of the patch first',
      META,
      { metadata: { finalizers: ['x.io/a', 'x.io/b'] } },
      { metadata: { finalizers: ['x.io/c', 'x.io/b'] } },
      { metadata: { finalizers: ['x.io/c', 'x.io/a', 'x.io/b'] } },
    ],
    [
      'owner references merge by uid',
      META,
      { metadata: { ownerReferences: [{ kind: 'Pod', name: 'p', uid: '1' }] } },
      {
        metadata: {
          ownerReferences: [
            { uid: '1', name: 'p2' },
            { name: 'q', uid: '2' },
          ],
        },
      },
      {
        metadata: {
          ownerReferences: [
            { kind: 'Pod', name: 'p2', uid: '1' },
            { name: 'q', uid: '2' },
          ],
        },
      },
    ],
    [
      'node taints are replaced',
      NODE,
      { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
      { spec: { taints: [{ key: 'b', effect: 'NoExecute' }] } },
      { spec: { taints: [{ key: 'b', effect: 'NoExecute' }] } },
    ],
    [
      'node conditions merge by type, in the order of the patch',
      NODE,
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      {
        status: {
          conditions: [
            { type: 'DiskPressure', status: 'False' },
            { type: 'Ready', status: 'False', reason: 'X' },
          ],
        },
      },
      {
        status: {
          conditions: [
            { type: 'DiskPressure', status: 'False' },
            { type: 'Ready', status: 'False', reason: 'X' },
          ],
        },
      },
    ],
    [
      'node addresses merge by type',
      NODE,
      {
        status: {
          addresses: [
            { type: 'Hostname', address: 'h' },
            { type: 'InternalIP', address: '10.1.1.1' },
          ],
        },
      },
      { status: { addresses: [{ type: 'InternalIP', address: '10.1.1.2' }] } },
      {
        status: {
          addresses: [
            { type: 'Hostname', address: 'h' },
            { type: 'InternalIP', address: '10.1.1.2' },
          ],
        },
      },
    ],
    [
      'service ports merge by port',
      SERVICE,
      {
        spec: {
          ports: [
            { port: 80, name: 'a', targetPort: 80 },
            { port: 81, name: 'b', targetPort: 81 },
          ],
        },
      },
      { spec: { ports: [{ port: 81, targetPort: 99 }] } },
      {
        spec: {
          ports: [
            { port: 80, name: 'a', targetPort: 80 },
            { port: 81, name: 'b', targetPort: 99 },
          ],
        },
      },
    ],
    [
      'without a schema maps merge and lists are replaced',
      undefined,
      { a: { b: [1], c: 1 } },
      { a: { b: [2] } },
      { a: { b: [2], c: 1 } },
    ],
  ])('%s', (_, schema, target, patch, expected) => {
    expect(strategicMerge(schema, frozen(target), frozen(patch))).toEqual(expected)
  })

  test.each<[string, unknown, unknown, number]>([
    ['a list of lists', [['a']], [['b']], 422],
    ['items of several types', ['a'], [1], 500],
  ])('%s cannot merge', (_, finalizers, wanted, httpCode) => {
    const failure = failureOf(() =>
      strategicMerge(META, { metadata: { finalizers } }, { metadata: { finalizers: wanted } }),
    )
    expect(failure.httpCode).toBe(httpCode)
  })

  test('applying a patch twice is applying it once', () => {
    const list = fc.uniqueArray(
      fc.record(
        { type: fc.constantFrom('A', 'B', 'C', 'D', 'E'), status: fc.constantFrom('True', 'False', null) },
        { requiredKeys: ['type'] },
      ),
      { selector: (condition) => condition.type },
    )
    const object = fc.record({ finalizers: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')), conditions: list })
    const nodeOf = ({ finalizers, conditions }: { finalizers: unknown; conditions: unknown }) =>
      frozen({ metadata: { finalizers }, status: { conditions } })
    fc.assert(
      fc.property(object, object, (before, patch) => {
        const once = strategicMerge(NODE, nodeOf(before), nodeOf(patch))
        expect(strategicMerge(NODE, once, nodeOf(patch))).toEqual(once)
      }),
    )
  })
})
