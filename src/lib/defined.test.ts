// Fields without a value are left out; nothing else is.
import { expect, expectTypeOf, test } from 'vitest'
import { defined } from './defined.ts'

test.each([
  [{ a: undefined }, {}],
  [{ a: 1, b: undefined }, { a: 1 }],
  [
    { a: 0, b: '', c: false, d: null },
    { a: 0, b: '', c: false, d: null },
  ],
])('%j', (fields, left) => expect(Object.entries(defined(fields))).toEqual(Object.entries(left)))

test('a field that is always there stays required, and one that may be missing becomes optional', () => {
  const zone: string | undefined = ['eu'].at(0)
  expectTypeOf(defined({ name: 'n', zone })).toEqualTypeOf<{ readonly name: string } & { readonly zone?: string }>()
})

test('a key that is named like a part of objects is a field like others', () => {
  const out = defined(JSON.parse('{"__proto__":{"x":1},"a":1}') as Record<string, unknown>)
  expect(Object.getPrototypeOf(out)).toBe(Object.prototype)
})
