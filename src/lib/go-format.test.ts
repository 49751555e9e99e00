import { expect, test } from 'vitest'
import { goFloat, goJson, goQuote } from './go-format.ts'

test.each([
  ['plain text', 'abc', '"abc"'],
  ['quotes and backslashes', 'a"\\', '"a\\"\\\\"'],
  ['a bell, which Go spells \\a', 'a\u0007b', '"a\\ab"'],
  ['other controls', '\u0000\u001b\u007f', '"\\x00\\x1b\\x7f"'],
  ['letters and symbols of any script as they are', 'größe 😀 日本', '"größe 😀 日本"'],
  ['white space that is not ASCII', '\u00a0\u2028', '"\\u00a0\\u2028"'],
  ['unprintable characters beyond the basic plane', '\u{e0001}', '"\\U000e0001"'],
  ['a lone surrogate as the replacement character', '\ud800', '"\ufffd"'],
])('goQuote writes %s', (_, text, quoted) => {
  expect(goQuote(text)).toBe(quoted)
})

test.each([
  [0, '0'],
  [-0, '-0'],
  [1.5, '1.5'],
  [-12.25, '-12.25'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [123456, '123456'],
  [1_000_000, '1e+06'],
  [1_234_567.5, '1.2345675e+06'],
  [1e100, '1e+100'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NaN, 'NaN'],
])('goFloat writes %d as %s', (value, text) => {
  expect(goFloat(value)).toBe(text)
})

test.each([
  ['keys sorted', { b: 1, a: 2 }, '{"a":2,"b":1}'],
  ['what HTML could take for its own escaped', '<a&b>', '"\\u003ca\\u0026b\\u003e"'],
  ['integers beyond 2^53 exactly', [2n ** 53n + 1n], '[9007199254740993]'],
  ['prototype keys as data', JSON.parse('{"__proto__":{"x":null}}'), '{"__proto__":{"x":null}}'],
  ['undefined fields left out', { a: undefined, b: true }, '{"b":true}'],
])('goJson writes %s', (_, value, text) => {
  expect(goJson(value)).toBe(text)
})

test('goJson keeps the order of a struct where the caller asks for it, and ends on any depth', () => {
  expect(goJson({ b: 1, a: { d: 1, c: 2 } }, 'as-given')).toBe('{"b":1,"a":{"d":1,"c":2}}')
  let deep: unknown = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]
  expect(goJson(deep)).toContain('"..."')
})
