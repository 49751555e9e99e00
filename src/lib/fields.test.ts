import { expect, test } from 'vitest'
import { fieldAt, fieldsOf, listOf, objectsIn, textIn, textOf } from './fields.ts'

test.each([
  ['x', 'x', 'x', {}, [], []],
  ['', '', undefined, {}, [], []],
  [7, '', undefined, {}, [], []],
  [null, '', undefined, {}, [], []],
  [undefined, '', undefined, {}, [], []],
  [{ a: 1 }, '', undefined, { a: 1 }, [], []],
  [[{ a: 1 }, 'x', [1]], '', undefined, {}, [{ a: 1 }, 'x', [1]], [{ a: 1 }]],
])('%j', (v, text, inside, fields, list, objects) =>
  expect([textOf(v), textIn(v), fieldsOf(v), listOf(v), objectsIn(v)]).toEqual([text, inside, fields, list, objects]),
)

test.each([
  [{ a: { b: 1 } }, ['a', 'b'], 1],
  [{ a: { b: 1 } }, ['a', 'c'], undefined],
  [{ a: 'x' }, ['a', 'length'], undefined],
  [{}, ['constructor'], undefined],
  [undefined, ['a'], undefined],
  [{ a: 1 }, [], { a: 1 }],
])('%j at %j', (v, path, found) => expect(fieldAt(v, ...path)).toEqual(found))
