import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { expandedSize } from './pattern-size.ts'

test.each([
  ['plain text', 'abc', 3],
  ['one repetition', '[ab]{1000}', 1_000],
  ['repetitions in each other', '(?:(?:ab){10}){50}', 1_000],
  ['as much as it may be repeated', 'a{2,7}', 7],
  ['a class with a bracket and a brace in it', '[]a{9}]{3}', 3],
  ['a class of Unicode', '\\p{Greek}{3}', 3],
  ['a brace that is text', 'a{b', 3],
])('the size of %s', (_, pattern, size) => expect(expandedSize(pattern)).toBe(size))

const part: fc.Arbitrary<string> = fc.letrec<{ part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('a', '.', '[a-z]', '\\d', '\\pL', '\\Qa{3}\\E', '[^\\]]'),
    fc.tuple(tie('part'), tie('part')).map(([a, b]) => a + b),
    fc.tuple(tie('part'), tie('part')).map(([a, b]) => `(?:${a}|${b})`),
    tie('part').map((a) => `(${a})`),
    fc.tuple(tie('part'), fc.nat(9), fc.nat(9)).map(([a, n, m]) => `(?:${a}){${n},${n + m}}`),
    fc.tuple(tie('part'), fc.constantFrom('*', '+', '?')).map(([a, c]) => `(?:${a})${c}`),
  ),
})).part

test('no pattern is more than three times as large as it was taken for', () => {
  fc.assert(
    fc.property(part, (pattern) => {
      let real = 0
      try {
        real = RE2JS.compile(pattern).programSize()
      } catch {
        return
      }
      // Start and end are instructions too.
      expect(real - 2).toBeLessThanOrEqual(3 * expandedSize(pattern))
    }),
  )
})
