import { describe, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { refText } from './object-ref.ts'
import { readKind, readRefs } from './read-kind.ts'
import { ResourceTypes } from './resource-types.ts'

const type = coreKind('ConfigMap')
const object = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name },
})
const ref = (namespace: string, name: string) => ({ group: '', kind: 'ConfigMap', namespace, name })
const forbidden = () => Promise.reject(Object.assign(new Error('forbidden'), { status: 403 }))

/** A server on which only these namespaces are readable. `*` is the whole cluster. */
function serving(objects: readonly KubeObject[], allowed: readonly string[]) {
  const asked: string[] = []
  const may = (namespace: string) => allowed.includes('*') || allowed.includes(namespace)
  const client = {
    list: (_: unknown, { namespace = '*' }: { namespace?: string }) => {
      asked.push(`list ${namespace}`)
      const items = objects.filter((o) => namespace === '*' || o.metadata.namespace === namespace)
      return may(namespace) ? Promise.resolve({ items, resourceVersion: '1' }) : forbidden()
    },
    get: (_: unknown, { namespace = '', name }: { namespace?: string; name: string }) => {
      asked.push(`get ${namespace}/${name}`)
      const found = objects.find((o) => o.metadata.namespace === namespace && o.metadata.name === name)
      return may(namespace) ? Promise.resolve(found) : forbidden()
    },
  } as unknown as KubeClient
  return { client, asked }
}

const names = Array.from({ length: 9 }, (_, i) => `n${i}`)
const wanted = [...names.map((n) => ref('shop', n)), ref('other', 'x')]
const all = names.slice(1).map((n) => object('shop', n))

test.each<[string, readonly string[], readonly string[], string]>([
  ['with all rights by one list', ['*'], ['list *'], 'Absent'],
  [
    'with rights in a namespace by its list, and the rest is unknown',
    ['shop'],
    ['list *', 'list shop', 'get other/x'],
    'Unknown',
  ],
])('S3 many objects are read %s', async (_, allowed, requests, other) => {
  const { client, asked } = serving(all, allowed)
  const found = await readKind({ client, type, signal: undefined }, wanted)
  expect(asked).toEqual(requests)
  expect(found.get('ConfigMap/shop/n0')).toBe('Absent')
  expect(found.get('ConfigMap/shop/n1')).toBe(all[0])
  expect(found.get('ConfigMap/other/x')).toBe(other)
})

test('S3 one object that may not be read leaves the others known', async () => {
  const { client } = serving(all, ['shop'])
  const found = await readKind({ client, type, signal: undefined }, [
    ref('shop', 'n1'),
    ref('other', 'x'),
    ref('shop', 'n0'),
  ])
  const seen = Object.fromEntries([...found].map(([name, o]) => [name, typeof o === 'string' ? o : 'there']))
  expect(seen).toEqual({ 'ConfigMap/shop/n1': 'there', 'ConfigMap/other/x': 'Unknown', 'ConfigMap/shop/n0': 'Absent' })
})

describe('a kind that no table knows', () => {
  const widget = { group: 'shop.example', kind: 'Widget', namespace: 'shop', name: 'a' }
  const page = { resources: [{ name: 'widgets', kind: 'Widget', namespaced: true }] }
  const group = { preferredVersion: { groupVersion: 'shop.example/v1' } }

  /** Answers discovery by path, and has no objects. */
  function discovering(answers: Readonly<Record<string, readonly [status: number, body: unknown]>>) {
    const client = {
      raw: async ({ path }: { path: string }) => {
        const [status, body] = answers[path] ?? [404, {}]
        return { status, headers: {}, text: JSON.stringify(body) }
      },
      get: async () => undefined,
    } as unknown as KubeClient
    return { client, types: new ResourceTypes(client, () => 0) }
  }

  test.each<[string, Parameters<typeof discovering>[0], string]>([
    [
      'is absent where it is served and not there',
      { '/apis/shop.example': [200, group], '/apis/shop.example/v1': [200, page] },
      'Absent',
    ],
    ['is absent where the group is not served', {}, 'Absent'],
    ['is absent where the version is not served', { '/apis/shop.example': [200, group] }, 'Absent'],
    ['is unknown where the group cannot be read', { '/apis/shop.example': [503, {}] }, 'Unknown'],
    [
      'is unknown where the version cannot be read',
      { '/apis/shop.example': [200, group], '/apis/shop.example/v1': [503, {}] },
      'Unknown',
    ],
    ['is unknown where it may not be read', { '/apis/shop.example': [403, {}] }, 'Unknown'],
  ])('%s', async (_, answers, expected) => {
    for (const declared of [undefined, 'shop.example/v1']) {
      const from =
        declared === undefined
          ? answers
          : { '/apis/shop.example/v1': answers['/apis/shop.example'] ?? [404, {}], ...answers }
      const read = await readRefs(discovering(from), [widget], () => declared)
      expect(read.get(refText(widget))).toBe(expected)
    }
  })
})
