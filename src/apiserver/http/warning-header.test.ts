import { expect, test } from 'vitest'
import { warningHeaders } from './warning-header.ts'

test('few warnings are sent whole, quoted and in one line', () => {
  expect(warningHeaders(['a "b" \\ c', 'x\ny', 'z'.repeat(1_000)])).toEqual([
    '299 - "a \\"b\\" \\\\ c"',
    '299 - "x y"',
    `299 - "${'z'.repeat(1_000)}"`,
  ])
})

test('many warnings are shortened to their beginnings, as far as headers have room', () => {
  const headers = warningHeaders(Array.from({ length: 40 }, (_, i) => `${i} ${'z'.repeat(1_000)}`))
  expect(headers.length).toBe(16)
  expect(headers[0]).toBe(`299 - "0 ${'z'.repeat(254)}"`)
})
