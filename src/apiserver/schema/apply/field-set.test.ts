// The algebra of field sets against plain sets of paths, their form and their order.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type FieldSet,
  difference,
  eachPath,
  fieldSetOfPaths,
  hasPath,
  inServerOrder,
  includes,
  intersection,
  parseFieldSet,
  recursiveDifference,
  sameSet,
  union,
} from './field-set.ts'
import { compareElements, elementText } from './path-element.ts'

const element = fc.constantFrom(
  'f:a',
  'f:b',
  'f:__proto__',
  'k:{"name":"x"}',
  'k:{"port":80}',
  'k:{"port":9}',
  'v:"s"',
  'v:1',
  'i:2',
)
const path = fc.array(element, { minLength: 1, maxLength: 3 })
const paths = fc.array(path, { maxLength: 12 })

const keyOf = (p: readonly string[]): string => JSON.stringify(p)
const keysOf = (ps: readonly (readonly string[])[]): Set<string> => new Set(ps.map(keyOf))

function listed(set: FieldSet): Set<string> {
  const found = new Set<string>()
  eachPath(set, (p) => found.add(keyOf(p)))
  return found
}

const isBelow = (p: readonly string[], top: readonly string[]): boolean => top.every((e, i) => p[i] === e)

describe('field sets', () => {
  test('they hold the paths put in and no others', () => {
    fc.assert(
      fc.property(paths, path, (ps, probe) => {
        const set = fieldSetOfPaths(ps)
        expect(listed(set)).toEqual(keysOf(ps))
        expect(hasPath(set, probe)).toBe(keysOf(ps).has(keyOf(probe)))
      }),
    )
  })

  test('union, intersection and differences are those of the paths', () => {
    fc.assert(
      fc.property(paths, paths, (ps, qs) => {
        const a = fieldSetOfPaths(ps)
        const b = fieldSetOfPaths(qs)
        const inA = keysOf(ps)
        const inB = keysOf(qs)
        expect(listed(union(a, b))).toEqual(inA.union(inB))
        expect(listed(intersection(a, b))).toEqual(inA.intersection(inB))
        expect(listed(difference(a, b))).toEqual(inA.difference(inB))
        expect(listed(recursiveDifference(a, b))).toEqual(keysOf(ps.filter((p) => !qs.some((q) => isBelow(p, q)))))
        expect(includes(a, b)).toBe(inB.isSubsetOf(inA))
        expect(sameSet(a, b)).toBe(inB.symmetricDifference(inA).size === 0)
      }),
    )
  })

  test('nothing is changed in place, and an operation without effect returns its operand', () => {
    fc.assert(
      fc.property(paths, paths, (ps, qs) => {
        const a = fieldSetOfPaths(ps)
        const b = fieldSetOfPaths(qs)
        const before = JSON.stringify([a, b])
        const joined = union(a, b)
        expect(union(joined, b)).toBe(joined)
        const rest = difference(a, b)
        expect(difference(rest, b)).toBe(rest)
        recursiveDifference(a, b)
        inServerOrder(a)
        expect(JSON.stringify([a, b])).toBe(before)
      }),
    )
  })

  test('they survive storage, in an order that does not depend on how they came about', () => {
    fc.assert(
      fc.property(paths, (ps) => {
        const set = inServerOrder(fieldSetOfPaths(ps))
        const text = JSON.stringify(set)
        expect(JSON.stringify(parseFieldSet(JSON.parse(text)))).toBe(text)
        expect(JSON.stringify(inServerOrder(fieldSetOfPaths(ps.toReversed())))).toBe(text)
        expect(inServerOrder(set)).toBe(set)
      }),
    )
  })

  test('elements are ordered by kind, names by name, keys by number before text', () => {
    const ordered = [
      'f:a',
      'f:b',
      'k:{"containerPort":80,"protocol":"TCP"}',
      'k:{"containerPort":80,"protocol":"UDP"}',
      'k:{"containerPort":443,"protocol":"TCP"}',
      'k:{"name":"a"}',
      'v:2',
      'v:10',
      'v:"a"',
      'v:true',
      'i:2',
      'i:10',
    ]
    expect(ordered.toReversed().toSorted(compareElements)).toEqual(ordered)
  })

  test.each([
    ['keys in another order become canonical', { 'k:{"b":1,"a":"<"}': {} }, { 'k:{"a":"\\u003c","b":1}': {} }],
    ['unknown kinds of elements are dropped', { 'x:1': {}, 'f:a': { 'y:1': {} }, 'f:b': {} }, { 'f:b': {} }],
    ['a lone dot is a leaf', { 'f:a': { '.': {} } }, { 'f:a': {} }],
    ['integers beyond 2^53 stay whole', { 'v:9007199254740993': {} }, { 'v:9007199254740993': {} }],
  ])('of what clients send, %s', (_, sent, expected) => {
    expect(parseFieldSet(sent)).toEqual(expected)
  })

  test.each([
    ['no kind', { a: {} }],
    ['broken JSON', { 'k:{': {} }],
    ['a scalar for a map', { 'f:a': 1 }],
  ])('%s is malformed', (_, sent) => {
    expect(() => parseFieldSet(sent)).toThrow(SyntaxError)
  })

  test.each([
    ['f:spec', '.spec'],
    ['k:{"name":"a","port":80}', '[name="a",port=80]'],
    ['v:"x"', '[="x"]'],
    ['i:3', '[3]'],
  ])('people read %s as %s', (stored, text) => {
    expect(elementText(stored)).toBe(text)
  })
})
