// Merge patches and their outcome, the recorded ones and the rules of RFC 7386.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonEqual } from '#lib/json.ts'
import { applyMergePatch } from './merge-patch.ts'
import { failureOf, frozen } from '../../../../test/support/schema/test-patches.ts'

describe('merge patch', () => {
  test.each<[string, unknown, unknown, unknown]>([
    ['null removes', { data: { k: 'v', l: 'w' } }, { data: { k: null, n: '1' } }, { data: { l: 'w', n: '1' } }],
    ['a null in a new map is dropped', { m: {} }, { m: { a: { a: '1', b: null } } }, { m: { a: { a: '1' } } }],
    ['lists are replaced', { l: [{ name: 'a' }, { name: 'b' }] }, { l: [{ name: 'z' }] }, { l: [{ name: 'z' }] }],
    ['a map replaces a list', { l: [1] }, { l: { a: null, b: 1 } }, { l: { b: 1 } }],
    ['a list replaces a map', { m: { a: 1 } }, { m: [null] }, { m: [null] }],
    ['null of a missing key does nothing', { a: 1 }, { b: null }, { a: 1 }],
  ])('%s', (_, target, patch, expected) => {
    expect(applyMergePatch(frozen(target), frozen(patch))).toEqual(expected)
  })

  test('a list is refused as malformed', () => {
    expect(failureOf(() => applyMergePatch({}, []))).toEqual({
      kind: 'NotAPatch',
      httpCode: 400,
      statusMessage: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    })
  })

  test('__proto__ is a plain key', () => {
    const patched = applyMergePatch({}, JSON.parse('{"__proto__": {"polluted": 1}}')) as object
    expect(Object.keys(patched)).toEqual(['__proto__'])
    expect(patched).not.toHaveProperty('polluted')
  })

  test('a patch that changes nothing returns the very object', () => {
    const target = frozen({ a: { b: [1, { c: 2 }] }, d: 3 })
    expect(applyMergePatch(target, { a: { b: [1, { c: 2 }] }, none: null })).toBe(target)
  })

  test('applying a patch twice is applying it once, and what it does not name is shared', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.constant(null), fc.array(fc.integer()), tie('map')),
      map: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), { noNullPrototype: true }),
    })).map
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(frozen(target), frozen(patch)) as Record<string, unknown>
        expect(jsonEqual(applyMergePatch(once, patch), once)).toBe(true)
        for (const key of Object.keys(target)) if (!Object.hasOwn(patch, key)) expect(once[key]).toBe(target[key])
      }),
      { numRuns: 200 },
    )
  })
})
