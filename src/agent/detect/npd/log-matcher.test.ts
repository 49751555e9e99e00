import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileRegex, regexProblem } from '#lib/regex.ts'
import { LogMatcher } from './log-matcher.ts'
import { traitsOf } from './pattern-traits.ts'
import { inFull } from '#test/support/tools/full.ts'

/** Like Go, without any shortcut: the whole buffer every time. */
function* plainly(patterns: readonly string[], size: number): Generator<readonly string[], void, string> {
  const buffer = Array<string>(size).fill('')
  const regexes = patterns.map((p) => compileRegex(`${p}\\z`))
  let found: string[] = []
  for (;;) {
    const line = yield found
    buffer.shift()
    buffer.push(line)
    const text = buffer.join('\n')
    found = regexes.flatMap((regex, n) => {
      const match = regex.match(text)
      if (match === undefined || match.index + match.text.length < text.length - line.length) return []
      return [`${n}: ${buffer.slice(text.slice(0, match.index).split('\n').length - 1).join('\n')}`]
    })
  }
}

const piece = fc.constantFrom(
  'task',
  'blocked',
  ' for more',
  'a',
  'b+',
  'b*',
  '\\d+',
  '\\w+',
  '\\S+',
  '.*',
  '.+',
  '(x|yy)',
  '(?:ab)?',
  '(ab){2}',
  '[abc]+',
  '[^a]',
  '\\n',
  '\\.',
  '$',
  '\\[Hardware Error\\]',
  'c{0,2}',
  '(foo|bar)baz',
  '(?i)K',
  '^',
  '[\\S ]+',
  'é',
)
const pattern = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((p) => p.join(''))
  .filter((p) => regexProblem(p) === undefined && regexProblem(`${p}\\z`) === undefined)
const word = fc.constantFrom(
  'task',
  'blocked',
  ' for more',
  'a',
  'b',
  'bbb',
  '7',
  'x',
  'yy',
  'ab',
  'abab',
  '.',
  'foo',
  'barbaz',
  'k',
  'é',
  '[Hardware Error]',
  ' ',
)
const line = fc.array(word, { maxLength: 5 }).map((w) => w.join(''))
const RUNS = inFull(20_000, 1_500)

test('with or without its shortcuts a matcher finds what Go would find', () => {
  fc.assert(
    fc.property(
      fc.array(pattern, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(line, { minLength: 1, maxLength: 12 }),
      (patterns, size, lines) => {
        const quick = new LogMatcher(patterns, size)
        const slow = plainly(patterns, size)
        slow.next('')
        for (const l of lines) {
          // Only lines without a match may be skipped.
          const isSpared = !quick.mayMatter(`time ${l} and more`)
          const found = slow.next(l).value ?? []
          if (isSpared) expect(found).toEqual([])
          expect(quick.push(l).map((m) => `${m.rule}: ${m.message}`)).toEqual(found)
        }
      },
    ),
    { numRuns: RUNS },
  )
})

describe('what a pattern tells', () => {
  test.each([
    ['task [\\S ]+:\\w+ blocked for more than \\w+ seconds\\.', ' blocked for more than ', true],
    ['Killed process \\d+ (.+) total-vm:\\d+kB, anon-rss:\\d+kB, file-rss:\\d+kB.*', 'Killed process ', true],
    ['.*\\[Hardware Error\\]: event severity: fatal$', '[Hardware Error]: event severity: fatal', true],
    ['Kill process \\d+ or\\nKilled process', 'Killed process', false],
    ['abcd|efgh', undefined, true],
    ['(?i)abcd', undefined, false],
    ['^abcd', 'abcd', false],
    ['ab(cdef)?', undefined, true],
    ['ab(cdef)+g', 'cdef', true],
    ['[^x]abcd', 'abcd', false],
    ['a\\x41bcd', undefined, false],
    ['(?P<n>abcd)', 'abcd', true],
  ] as const)('%s', (text, literal, isOneLine) => {
    expect(traitsOf(text)).toEqual({ literal, isOneLine })
  })
})

test('alternatives of which only the last is bound to the end count a line once, when it comes', () => {
  const matcher = new LogMatcher(['one|two'], 10)
  expect(['one and more', 'x', 'two', 'two and more'].map((l) => matcher.push(l).length)).toEqual([1, 0, 1, 0])
})

test('a rule of several lines matches where they follow each other, and once', () => {
  const matcher = new LogMatcher(['Kill process \\d+\\nKilled process \\d+.*'], 10)
  const said = ['x', 'Kill process 1', 'Killed process 1 now', 'y', 'Kill process 2', 'z', 'Killed process 2'].map(
    (l) => matcher.push(l).map((m) => m.message),
  )
  expect(said.filter((s) => s.length > 0)).toEqual([['Kill process 1\nKilled process 1 now']])
})

test('S12 a pattern that other engines choke on costs a line of 16 KB little', () => {
  const matcher = new LogMatcher(['(a+)+b', '(x|xx|xxx)+y', '(.*)*z', '([a-z]+)*[0-9]Q'], 10)
  const evil = `${'a'.repeat(8_000)}${'x'.repeat(8_000)}!`
  const began = process.cpuUsage()
  for (let n = 0; n < 5; n++) expect(matcher.push(evil)).toEqual([])
  const { user } = process.cpuUsage(began)
  // Backtracking would practically never finish, so any limit shows the difference.
  expect(user / 1_000_000).toBeLessThan(5)
})

describe('S12 what one line may cost is bounded, whatever the patterns', () => {
  /** The largest pattern, in the largest number, that is allowed: without a limit, about 2,000 seconds for one line. */
  const LARGE = '(?:[xa]?){300}[xa]{300}[yz]'
  const many = Array<string>(128).fill(LARGE)
  const long = 'xa'.repeat(8_192)

  test('a pattern does not see a line that is too long for it, and sees the next one', () => {
    const matcher = new LogMatcher(many, 10)
    for (let n = 0; n < 20; n++) expect(matcher.push(`${long}y`)).toEqual([])
    expect(new LogMatcher([LARGE], 10).push(`${'xa'.repeat(500)}y`)).toHaveLength(1)
  })

  test('a pattern of several lines sees the latest lines that it may, the older ones as empty as after a start', () => {
    const matcher = new LogMatcher(['^\\n*(?:[xa]?){150}[xa]{150}\\n(?:[yz]?){150}y'], 1_000)
    for (let n = 0; n < 50; n++) expect(matcher.push(long)).toEqual([])
    const short = 'xa'.repeat(100)
    expect(matcher.push(short)).toEqual([])
    expect(matcher.push('zy')).toHaveLength(1)
    const fresh = new LogMatcher(['(?:[xa]?){150}[xa]{150}\\n(?:[yz]?){150}y'], 1_000)
    for (const line of [long, short]) expect(fresh.push(line)).toEqual([])
    expect(fresh.push('zy').map((m) => m.message)).toEqual([`${short}\nzy`])
  })

  test('a line that is too long itself is not taken for an empty one', () => {
    const matcher = new LogMatcher(['\\n\\n(?:[yz]?){400}'], 10)
    expect(matcher.push(long)).toEqual([])
    expect(matcher.push('')).toHaveLength(1)
  })
})
