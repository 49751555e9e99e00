// JSON patches and their outcome as recorded from a real kube-apiserver 1.36, and the bounds that the recordings do not show.
import { describe, expect, test } from 'vitest'
import { cloneJson } from '#lib/json.ts'
import { MAX_COPIED_BYTES, MAX_JSON_PATCH_OPERATIONS, applyJsonPatch } from './json-patch.ts'
import { failureOf, frozen } from '../../../../test/support/schema/test-patches.ts'

const DOES_NOT_APPLY = {
  kind: 'DoesNotApply',
  httpCode: 422,
  statusMessage: 'the server rejected our request due to an error in our request',
}

const CONFIG_MAP = frozen({ metadata: { labels: { x: '1' } }, data: { k: 'v', l: 'w' }, list: ['a', 'b', 'c'] })

describe('JSON patch', () => {
  const data = (value: unknown): unknown => ({ ...CONFIG_MAP, data: value })
  const list = (value: unknown): unknown => ({ ...CONFIG_MAP, list: value })

  test.each<[string, unknown, unknown]>([
    ['no operations', [], CONFIG_MAP],
    [
      'add, replace and remove',
      [
        { op: 'add', path: '/data/n', value: '1' },
        { op: 'replace', path: '/data/k', value: '2' },
        { op: 'remove', path: '/data/l' },
      ],
      data({ k: '2', n: '1' }),
    ],
    ['a test that holds', [{ op: 'test', path: '/data/k', value: 'v' }], CONFIG_MAP],
    ['a test of a missing key for null', [{ op: 'test', path: '/data/none', value: null }], CONFIG_MAP],
    ['a test of the whole object', [{ op: 'test', path: '', value: cloneJson(CONFIG_MAP) }], CONFIG_MAP],
    [
      'replace of a missing key',
      [{ op: 'replace', path: '/data/none', value: 'x' }],
      data({ k: 'v', l: 'w', none: 'x' }),
    ],
    [
      'copy and move',
      [
        { op: 'copy', from: '/data/k', path: '/data/c' },
        { op: 'move', from: '/data/l', path: '/data/m' },
      ],
      data({ c: 'v', k: 'v', m: 'w' }),
    ],
    [
      'escaped slash and tilde',
      [{ op: 'add', path: '/metadata/labels/a.io~1b~0c', value: 'x' }],
      { ...CONFIG_MAP, metadata: { labels: { x: '1', 'a.io/b~c': 'x' } } },
    ],
    ['add inside a list', [{ op: 'add', path: '/list/1', value: 'n' }], list(['a', 'n', 'b', 'c'])],
    ['add at the end of a list', [{ op: 'add', path: '/list/-', value: 'n' }], list(['a', 'b', 'c', 'n'])],
    ['add at index -1: the end', [{ op: 'add', path: '/list/-1', value: 'n' }], list(['a', 'b', 'c', 'n'])],
    ['remove at index -1: the last', [{ op: 'remove', path: '/list/-1' }], list(['a', 'b'])],
    ['replace at index -3: the first', [{ op: 'replace', path: '/list/-3', value: 'n' }], list(['n', 'b', 'c'])],
    ['replace of everything', [{ op: 'replace', path: '', value: { a: 1 } }], { a: 1 }],
    [
      'copy of a missing key gives null',
      [{ op: 'copy', from: '/data/none', path: '/data/c' }],
      data({ k: 'v', l: 'w', c: null }),
    ],
    [
      'a copy and its original do not change together',
      [
        { op: 'add', path: '/data/k', value: { in: 1 } },
        { op: 'add', path: '/data/k/more', value: 2 },
        { op: 'copy', from: '/data/k', path: '/data/c' },
        { op: 'add', path: '/data/c/own', value: 3 },
        { op: 'add', path: '/data/k/more', value: 4 },
      ],
      data({ k: { in: 1, more: 4 }, l: 'w', c: { in: 1, more: 2, own: 3 } }),
    ],
  ])('%s', (_, operations, expected) => {
    expect(applyJsonPatch(CONFIG_MAP, frozen(operations))).toEqual(expected)
  })

  test.each<[string, unknown]>([
    ['a test that fails', [{ op: 'test', path: '/metadata/resourceVersion', value: '7' }]],
    ['remove of a missing key', [{ op: 'remove', path: '/data/none' }]],
    ['add below a missing parent', [{ op: 'add', path: '/metadata/annotations/q', value: 'x' }]],
    ['an index past the end', [{ op: 'replace', path: '/list/3', value: 'x' }]],
    ['an index before the start', [{ op: 'remove', path: '/list/-4' }]],
    ['an index that is no number', [{ op: 'add', path: '/list/x', value: 'x' }]],
    ['an unknown operation', [{ op: 'merge', path: '/data', value: {} }]],
    ['an operation without path', [{ op: 'remove' }]],
    ['a path into a scalar', [{ op: 'add', path: '/data/k/deep', value: 1 }]],
    ['move of a missing key', [{ op: 'move', from: '/data/none', path: '/data/m' }]],
    ['move into itself', [{ op: 'move', from: '/data', path: '/data/m' }]],
    ['the prototype as a key', [{ op: 'add', path: '/__proto__/polluted', value: 1 }]],
    ['add of the whole object', [{ op: 'add', path: '', value: {} }]],
  ])('%s is refused with the fixed text', (_, operations) => {
    expect(failureOf(() => applyJsonPatch(CONFIG_MAP, operations))).toEqual(DOES_NOT_APPLY)
  })

  test('a body that is no list is refused as malformed', () => {
    expect(failureOf(() => applyJsonPatch(CONFIG_MAP, { op: 'add' }))).toEqual({
      kind: 'NotAPatch',
      httpCode: 400,
      statusMessage: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    })
  })

  test('more operations than the bound are refused before any is tried', () => {
    const operations = Array.from({ length: MAX_JSON_PATCH_OPERATIONS + 1 }, () => ({ op: 'nonsense' }))
    expect(failureOf(() => applyJsonPatch(CONFIG_MAP, operations))).toEqual({
      kind: 'TooMany',
      httpCode: 413,
      statusMessage: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    })
  })

  test('a list that doubles itself is stopped at the bound of copied bytes', () => {
    const double = { op: 'copy', from: '/a', path: '/a/-' }
    const operations = Array.from({ length: 40 }, () => double)
    expect(failureOf(() => applyJsonPatch({ a: ['x'.repeat(1000)] }, operations))).toEqual(DOES_NOT_APPLY)
    expect(2 ** 40).toBeGreaterThan(MAX_COPIED_BYTES)
  })

  test('__proto__ is a plain key', () => {
    const patched = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]) as object
    expect(Object.keys(patched)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype)
    expect(patched).not.toHaveProperty('polluted')
  })
})
