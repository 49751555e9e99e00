import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_DEPTH, parseDocuments } from './documents.ts'

const problemsOf = (text: string) => parseDocuments(text).problems.map((p) => `${p.line}:${p.column} ${p.message}`)

describe('what is refused, and where', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['an unclosed list', 'a: 1\nb: [1,\n', /^3:1 /],
    ['a duplicate key', 'a: 1\na: 2\n', /^2:1 the key "a" is used twice/],
    ['a duplicate key in the depth', '{"a": [{"b": 1, "b": 2}]}', /^1:17 the key "b" is used twice/],
    ['keys that are one key in JSON', '1: a\n"1": b\n', /^2:1 the key "1" is used twice/],
    ['a map as a key', '? {a: b}\n: c\n', /^1:3 a key must be plain text/],
    ['a list as a key', '[a, b]: c\n', /^1:1 a key must be plain text/],
    ['an alias as a key', 'a: &x b\n*x : c\n', /^2:1 a key must be plain text/],
    [
      'a flood of aliases',
      `${'- &a x\n'.repeat(10_000)}${'- *a\n'.repeat(2_000)}`,
      /^1:1 2000 aliases among \d+ values/,
    ],
    ['a tab as indent', 'a:\n\tb: 1\n', /^2:1 /],
    ['an integer beyond 2^53', 'a: 9007199254740993\n', /^1:4 the number 9007199254740993 cannot be kept exactly/],
    ['a number beyond doubles', 'a: 1e999\n', /^1:4 the number 1e999 cannot/],
    ['a NUL byte', 'a: "\0"', /^1:1 contains a NUL byte/],
    ['an unknown tag', 'a: !!js/function x\n', /^1:4 /],
    ['nesting in flow style', '['.repeat(MAX_DEPTH + 2) + ']'.repeat(MAX_DEPTH + 2), /nested deeper than 64/],
    ['nesting beyond the stack', '['.repeat(20_000), /^1:\d+ nested deeper than 64 levels$/],
    [
      'closed nesting beyond the stack',
      '['.repeat(20_000) + ']'.repeat(20_000),
      /^1:\d+ nested deeper than 64 levels$/,
    ],
    ['lists in lists beyond the stack', `${'- '.repeat(20_000)}a`, /^1:\d+ nested deeper than 64 levels$/],
    [
      'aliases that multiply',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(9)}]\nc: &c [${'*b,'.repeat(9)}]\nd: [${'*c,'.repeat(9)}]\n`,
      /aliases expand/,
    ],
    ['an alias of the list that it stands in', '&a [*a]', /^1:1 an alias refers to a value that contains it/],
    ['two of them, which double at each level', '&a [*a, *a]', /^1:1 an alias refers to a value that contains it/],
    [
      'aliases that contain each other through a map',
      'x: &a {b: &b [*b, 1], c: *a}',
      /an alias refers to a value that/,
    ],
  ]
  test.each(cases)('%s', (_name, text, want) => {
    const [first] = problemsOf(text)
    expect(first).toMatch(want)
  })
})

test('the time grows with the text, not with its square: ten thousands of keys, and a problem at each', () => {
  const keys = Array.from({ length: 60_000 }, (_, i) => `k${i}`)
  const doc = parseDocuments(JSON.stringify(Object.fromEntries(keys.map((k) => [k, 1])))).documents[0]
  expect(keys.filter((k) => doc?.placeOf(`/${k}`).line !== 1)).toEqual([])
})

test('a pointer leads through an alias', () => {
  const doc = parseDocuments('a: &x\n  b: 1\nc: *x\n').documents[0]
  expect(doc?.placeOf('/c/b')).toEqual({ line: 2, column: 3 })
})

test('documents beside a broken one are still read', () => {
  const { documents, problems } = parseDocuments('a: 1\n---\nb: [\n---\nc: 3\n')
  expect(documents.map((d) => d.value)).toContainEqual({ a: 1 })
  expect(problems.length).toBeGreaterThan(0)
})

test('empty documents are passed over', () => {
  expect(parseDocuments('---\n---\n# nothing\n').documents).toEqual([])
})

test('__proto__ is plain data (S10)', () => {
  const value = parseDocuments('__proto__: {polluted: true}\n').documents[0]?.value as object
  expect(Object.keys(value)).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('a merge key is plain data too (S10)', () => {
  expect(parseDocuments('<<: {a: 1}\n').documents[0]?.value).toEqual({ '<<': { a: 1 } })
})

test('a pointer leads to line and column, a missing one to its nearest parent', () => {
  const doc = parseDocuments('spec:\n  steps:\n    - 1\n    - five\n').documents[0]
  expect(doc?.placeOf('/spec/steps/1')).toEqual({ line: 4, column: 7 })
  expect(doc?.placeOf('/spec/stops')).toEqual({ line: 1, column: 1 })
  expect(doc?.placeOf('')).toEqual({ line: 1, column: 1 })
})

test('JSON text is read as itself', () => {
  // Doubles beyond 2^53 print as different integers; a case above refuses those.
  const numbers = [fc.maxSafeInteger(), fc.double({ min: -1e6, max: 1e6, noNaN: true })]
  const json = fc.anything({ maxDepth: 4, values: [fc.string(), fc.boolean(), fc.constant(null), ...numbers] })
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify({ value }, null, 1)
      const parsed = parseDocuments(text)
      expect(parsed.problems).toEqual([])
      expect(JSON.stringify(parsed.documents[0]?.value)).toBe(JSON.stringify({ value }))
    }),
    { numRuns: 100 },
  )
})

test('arbitrary text never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const { documents, problems } = parseDocuments(text)
      expect(documents.length + problems.length).toBeGreaterThanOrEqual(0)
    }),
    { numRuns: 100 },
  )
})
