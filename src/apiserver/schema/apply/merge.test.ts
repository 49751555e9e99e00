// How an applied configuration merges into an object, list orders above all.
import { describe, expect, test } from 'vitest'
import type { Schema } from '#api/schema/schema.ts'
import { mergeValues } from './merge.ts'

const STRING: Schema = { type: 'string' }
const SET: Schema = { type: 'array', items: STRING, 'x-kubernetes-list-type': 'set' }
const PORTS: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['port', 'protocol'],
  items: {
    type: 'object',
    properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, name: STRING },
  },
}

describe('merging sets', () => {
  test.each<[string, string, string, string]>([
    ['new items come last', 'a b', 'c', 'a b c'],
    ['new items come where the configuration has them', 'a c', 'a b c', 'a b c'],
    ['shared items follow the configuration', 'a b c', 'c a', 'b c a'],
    ['items of the object alone keep their place', 'x a y b z', 'a b', 'x a y b z'],
    ['items of the object alone stay before what moves behind them', 'a x b', 'b a', 'x b a'],
    ['new items come before the shared item that follows them', 'a b', 'n b', 'a n b'],
    ['a reversed list is the reversed list', 'a b c', 'c b a', 'c b a'],
    ['nothing new, nothing moved', 'a b c', 'b', 'a b c'],
    ['from nothing', '', 'b a', 'b a'],
  ])('%s', (_, live, applied, expected) => {
    const words = (text: string): string[] => text.split(' ').filter((w) => w !== '')
    expect(mergeValues(SET, words(live), words(applied))).toEqual(words(expected))
  })

  test('a list that does not change is the very list', () => {
    const live = ['a', 'b']
    expect(mergeValues(SET, live, ['b'])).toBe(live)
  })
})

describe('merging lists of maps', () => {
  test('items meet by all keys, with the default of a key that is left out', () => {
    const live = [
      { port: 80, name: 'old' },
      { port: 80, protocol: 'UDP', name: 'dns' },
    ]
    expect(mergeValues(PORTS, live, [{ port: 80, protocol: 'TCP', name: 'new' }])).toEqual([
      { port: 80, protocol: 'TCP', name: 'new' },
      { port: 80, protocol: 'UDP', name: 'dns' },
    ])
  })

  test('items of the object that share a key merge with nothing', () => {
    const live = [
      { port: 80, name: 'one' },
      { port: 80, name: 'two' },
    ]
    expect(mergeValues(PORTS, live, [{ port: 80 }])).toEqual([{ port: 80 }])
    expect(mergeValues(PORTS, live, [{ port: 81 }])).toEqual([...live, { port: 81 }])
  })
})

describe('merging values', () => {
  const atomicMap: Schema = { type: 'object', additionalProperties: STRING, 'x-kubernetes-map-type': 'atomic' }
  const freeMap: Schema = { type: 'object', additionalProperties: STRING }
  test.each<[string, Schema | undefined, unknown, unknown, unknown]>([
    ['maps merge by key', freeMap, { a: '1' }, { b: '2' }, { a: '1', b: '2' }],
    ['atomic maps are replaced', atomicMap, { a: '1' }, { b: '2' }, { b: '2' }],
    ['an empty map takes nothing away', freeMap, { a: '1' }, {}, { a: '1' }],
    ['null takes nothing away by itself', freeMap, { a: '1' }, null, { a: '1' }],
    ['null replaces an empty map', freeMap, {}, null, null],
    ['null replaces a scalar', STRING, 'a', null, null],
    ['without a schema maps merge', undefined, { a: { x: 1 } }, { a: { y: 2 } }, { a: { x: 1, y: 2 } }],
    ['without a schema lists are replaced', undefined, [1, 2], [3], [3]],
    ['another type replaces', undefined, [1], { a: 1 }, { a: 1 }],
    ['__proto__ is a key like others', undefined, {}, JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')],
  ])('%s', (_, schema, live, applied, expected) => {
    expect(mergeValues(schema, live, applied)).toEqual(expected)
  })
})
