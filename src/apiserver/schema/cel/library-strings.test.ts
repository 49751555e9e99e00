import { expect, test } from 'vitest'
import { trim } from './library-strings.ts'

test.each([
  ['', ''],
  [' \t\n\u0085\u00a0', ''],
  ['a b', 'a b'],
  [' \u2003a\u0085 b\u0085\n', 'a\u0085 b'],
])('trim %j', (text, trimmed) => {
  expect(trim(text)).toBe(trimmed)
})

test('S12 white space in the middle of a long text is not read again and again', () => {
  // Ten minutes when it is.
  const text = `x${' '.repeat(1_000_000)}x`
  expect(trim(text)).toBe(text)
})
