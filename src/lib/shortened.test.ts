import { expect, test } from 'vitest'
import { shortened } from './shortened.ts'

test.each([
  ['fits', 'abc', 3, 'abc'],
  ['is cut, and the cut is marked', 'abcd', 3, 'ab…'],
  ['fits by characters', '😀😀😀', 3, '😀😀😀'],
  ['is cut between characters', '😀😀😀😀', 3, '😀😀…'],
  ['has no room', 'abcd', 0, '…'],
])('a text that %s', (_, text, most, expected) => {
  expect(shortened(text, most)).toBe(expected)
})
