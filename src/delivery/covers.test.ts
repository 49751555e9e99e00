import { expect, test } from 'vitest'
import { coversDeclared } from './covers.ts'

test.each<[string, unknown, unknown, boolean]>([
  ['the same', { a: 1 }, { a: 1 }, true],
  ['a field that others added', { a: 1 }, { a: 1, b: 2 }, true],
  ['another value', { a: 1 }, { a: 2 }, false],
  ['a field that is gone', { a: 1 }, {}, false],
  ['an empty map that was dropped', { a: {} }, {}, true],
  ['a default inside a list', { l: [{ name: 'x', v: 1 }] }, { l: [{ name: 'x', v: 1, more: 2 }] }, true],
  ['entries of others in a list of named ones', { l: [{ name: 'x' }] }, { l: [{ name: 'w' }, { name: 'x' }] }, true],
  ['a named entry that is gone', { l: [{ name: 'x' }] }, { l: [{ name: 'w' }] }, false],
  ['one more in a plain list', { l: [1] }, { l: [1, 2] }, false],
  ['another order in a plain list', { l: [1, 2] }, { l: [2, 1] }, false],
  ['a key of the prototype', { constructor: 'x' }, {}, false],
  ['a list where a map was', { a: { b: 1 } }, { a: [] }, false],
])('%s', (_, declared, live, isCovered) => {
  expect(coversDeclared(declared, live)).toBe(isCovered)
})
