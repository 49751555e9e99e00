// A list in a sentence is bounded, and the omitted names are counted.
import { expect, test } from 'vitest'
import { someOf } from './some-of.ts'

test.each([
  [[], 2, ''],
  [['a'], 2, 'a'],
  [['a', 'b'], 2, 'a, b'],
  [['a', 'b', 'c'], 2, 'a, b and 1 more'],
  [['a', 'b', 'c', 'd'], 1, 'a and 3 more'],
])('%j, at most %i', (names, most, text) => expect(someOf(names, most)).toBe(text))

test('with other words between them', () => {
  expect(someOf(['a', 'b', 'c'], 2, '; ')).toBe('a; b and 1 more')
})
