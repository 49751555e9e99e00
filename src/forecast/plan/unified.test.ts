import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedLines } from './unified.ts'

const text = (...lines: readonly (string | number)[]) => lines.map((l) => `${l}\n`).join('')
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

test('a change is shown with three lines around it, and far changes apart', () => {
  expect(unifiedLines(text(...numbers(1, 20)), text(...numbers(1, 20)))).toEqual([])
  const after = numbers(1, 20).map((n) => (n === 5 ? 'five' : n))
  expect(unifiedLines(text(...numbers(1, 20)), text(...after, 'last')).join('|')).toBe(
    '@@ -2,7 +2,7 @@| 2| 3| 4|-5|+five| 6| 7| 8|@@ -18,3 +18,4 @@| 18| 19| 20|+last',
  )
})

test('an object that is new or removed is all of one mark', () => {
  expect(unifiedLines('', text('a', 'b'))).toEqual(['@@ -0,0 +1,2 @@', '+a', '+b'])
  expect(unifiedLines(text('a'), '')).toEqual(['@@ -1,1 +0,0 @@', '-a'])
})

/** What patch does: the old text becomes the new one. */
function applied(before: readonly string[], diff: readonly string[]): readonly string[] {
  const out: string[] = []
  let at = 0
  for (const line of diff) {
    const [, start, count] = /^@@ -(\d+),(\d+) /.exec(line) ?? []
    if (start !== undefined) {
      const from = Number(count) === 0 ? Number(start) : Number(start) - 1
      out.push(...before.slice(at, from))
      at = from
    } else if (line.startsWith('+')) out.push(line.slice(1))
    else {
      expect(before[at]).toBe(line.slice(1))
      if (line.startsWith(' ')) out.push(line.slice(1))
      at++
    }
  }
  return [...out, ...before.slice(at)]
}

test('applied to the old text, the difference gives the new one', () => {
  const some = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 })
  fc.assert(
    fc.property(some, some, (before, after) => {
      expect(applied(before, unifiedLines(text(...before), text(...after)))).toEqual(after)
    }),
  )
})

test('texts without end take bounded time', () => {
  const long = (word: string) => text(...numbers(1, 5_000).map((n) => `${word}${n}`))
  expect(unifiedLines(long('a'), long('b'))).toHaveLength(10_001)
})
