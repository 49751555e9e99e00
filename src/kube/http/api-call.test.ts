import { coreKind } from '#kube/core-kinds.ts'
import { describe, expect, it } from 'vitest'
import { collectionCall, objectCall, pageOf } from './api-call.ts'

const NODES = coreKind('Node')
const page = (body: unknown) => pageOf(NODES, body, collectionCall('GET', 'list', NODES, undefined, '', {}))

describe('a page of a list', () => {
  it('gives its items the kind that built-in ones come without', () => {
    const body = { metadata: { resourceVersion: '7', continue: 'c' }, items: [{ metadata: { name: 'a' } }] }
    expect(page(body)).toEqual({
      items: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }],
      resourceVersion: '7',
      continue: 'c',
    })
  })

  it('of nothing may come as null', () => expect(page({ metadata: {}, items: null }).items).toEqual([]))

  it.each([
    ['no object', null],
    ['items that are no list', { metadata: {}, items: {} }],
    ['no items', { metadata: {} }],
    ['a number among the items', { metadata: {}, items: [{ metadata: {} }, 1] }],
    ['null among the items', { metadata: {}, items: [null] }],
    ['an item without metadata', { metadata: {}, items: [{}] }],
    ['a resourceVersion that is too long to keep', { metadata: { resourceVersion: '1'.repeat(2_000) }, items: [] }],
  ])('is refused by number: %s', (_name, body) => {
    expect(() => page(body)).toThrow(/^KN1314: cannot list nodes: the response is /)
  })
})

describe('S33 a name that would change the path', () => {
  const PODS = coreKind('Pod')

  it.each(['', '.', '..', '../nodes', 'a/b', 'a%2fb'])('is refused before a request is made: %j', (bad) => {
    const call = (namespace: string, name: string) => () =>
      objectCall('DELETE', 'delete', PODS, { namespace, name }, {}, undefined)
    expect(call('default', bad)).toThrow(/^KN2014: /)
    expect(call(bad, 'p')).toThrow(/^KN2014: /)
    expect(() => objectCall('GET', 'get', NODES, { name: bad }, {}, undefined)).toThrow(/^KN2014: /)
  })

  it('does not touch the other characters of names', () =>
    expect(objectCall('GET', 'get', NODES, { name: 'system:node:n_1.x' }, {}, undefined).path).toBe(
      '/api/v1/nodes/system%3Anode%3An_1.x',
    ))
})
