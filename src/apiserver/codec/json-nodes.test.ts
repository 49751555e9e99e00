import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasMoreNodes, valueHasMoreNodes } from './json-nodes.ts'

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const wide = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]))

test.each<readonly [string, unknown, number, boolean]>([
  ['fields', wide(100), 100, false],
  ['one more field', wide(101), 100, true],
  ['items of lists', Array.from({ length: 101 }, () => 0), 100, true],
  ['empty lists in lists', Array.from({ length: 60 }, () => []), 100, true],
  ['commas and brackets in text are none', { text: '{[,'.repeat(500) }, 100, false],
  ['quotes in text end nothing', { text: `\\",`.repeat(500), more: '"' }, 100, false],
])('%s', (_, value, most, want) => expect(hasMoreNodes(bytes(value), most)).toBe(want))

test('no value with more items than allowed gets through, and none with half as many is refused', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 1, max: 30 }), (value, most) => {
      const text = bytes(value)
      if (valueHasMoreNodes(value, most)) expect(hasMoreNodes(text, most)).toBe(true)
      // a list or object counts once more than what is in it
      if (hasMoreNodes(text, 2 * most)) expect(valueHasMoreNodes(value, most - 1)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
