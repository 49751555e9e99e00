import { describe, expect, it } from 'vitest'
import { collectionCall, pageOf } from './api-call.ts'

const NODES = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false } as const
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
  ])('is refused by number: %s', (_name, body) => {
    expect(() => page(body)).toThrow(/^KN2006: cannot list nodes: the response is /)
  })
})
