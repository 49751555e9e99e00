import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Effort, EffortSpent } from './effort.ts'
import { MAX_PATTERN_LENGTH, MAX_PROGRAM, RegexError, compileRegex, createRegexCache, regexProblem } from './regex.ts'

describe('compileRegex', () => {
  test.each([
    ['finds a part of the text', 'b+', 'abbc', true, false],
    ['knows anchors', '^a$', 'a', true, true],
    ['does not let $ match before a last line break', '^a$', 'a\n', false, false],
    ['takes a character outside the basic plane as one', '^.$', '😀', true, true],
    ['knows flags inside the pattern', '(?i)ABC', 'xabc', true, false],
    ['knows Unicode classes', '^\\p{L}+$', 'größe', true, true],
  ])('%s', (_, pattern, text, part, whole) => {
    const re = compileRegex(pattern)
    expect([re.test(text), re.testWhole(text)]).toEqual([part, whole])
  })

  test('gives the first match with its groups by number and name', () => {
    const found = compileRegex('(?P<pid>[0-9]+) (\\w+)( x)?').match('killed 42 dhclient')
    expect(found).toEqual({
      index: 7,
      text: '42 dhclient',
      groups: ['42', 'dhclient', undefined],
      named: new Map([['pid', '42']]),
    })
    expect(compileRegex('z').match('a')).toBeUndefined()
  })

  test.each([
    ['a group left open', '(', 'error parsing regexp: missing closing ): `(`'],
    ['a class left open', '[a', 'error parsing regexp: missing closing ]: `[a`'],
    ['a back reference', '(a)\\1', 'error parsing regexp: invalid escape sequence: `\\1`'],
    ['a lookahead', 'a(?=b)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['a repeat that repeats nothing', '*a', 'error parsing regexp: missing argument to repetition operator: `*`'],
    ['a repeat that is too large', 'a{1001}', 'error parsing regexp: invalid repeat count: `{1001}`'],
    ['nested repeats that are too large', '((a{100}){20})', 'error parsing regexp: invalid repeat count: `{20}`'],
  ])('refuses %s in the words of Go', (_, pattern, reason) => {
    expect(regexProblem(pattern)).toBe(reason)
    expect(() => compileRegex(pattern)).toThrow(RegexError)
  })

  test('refuses a pattern that is too long, and one that nests too deep', () => {
    expect(regexProblem('a'.repeat(MAX_PATTERN_LENGTH))).toBeUndefined()
    expect(regexProblem('a'.repeat(MAX_PATTERN_LENGTH + 1))).toContain('over 16384')
    expect(regexProblem(`${'('.repeat(5_000)}${')'.repeat(5_000)}`)).toBe(
      'error parsing regexp: expression nests too deeply',
    )
  })

  test('S12 refuses a pattern that is far larger than it looks', () => {
    expect(regexProblem('.{1000}'.repeat(30))).toContain(`over ${MAX_PROGRAM}; use smaller repetitions`)
    expect(() => compileRegex('(?:[xa]?){1000}'.repeat(20))).toThrow(RegexError)
    expect(regexProblem('.{1000}', { maxProgram: 2_000 })).toBeUndefined()
    expect(regexProblem('.{1000}', { maxProgram: 1_000 })).toContain('over 1000')
    expect(regexProblem('((a{100}){100}){100}')).toContain(`over ${MAX_PROGRAM}; use smaller repetitions`)
  })

  test.each([
    ['a text that needs a new set of states at each character', 'a[ab]{900}'.repeat(8), 60_000],
    ['a text whose states do not fit into memory', '(a|b)*a(a|b){200}[c-z]', 60_000],
  ])('gives up %s when its effort is spent, and still matches afterwards', (_, pattern, length) => {
    const re = compileRegex(pattern)
    let state = 1
    const text = Array.from({ length }, () => ((state = (state * 16_807) % 2_147_483_647) & 1 ? 'a' : 'b')).join('')
    expect(() => re.test(text, new Effort(2_000_000))).toThrow(EffortSpent)
    expect(re.test('c', new Effort(2_000_000))).toBe(false)
    expect(re.test(`${'a'.repeat(8_000)}c`)).toBe(true)
  })

  test('a short text costs next to nothing, however large the pattern', () => {
    const re = compileRegex('a[ab]{900}'.repeat(8))
    const effort = new Effort(200_000)
    for (let i = 0; i < 1_000; i++) expect(re.test(`text ${i}`, effort)).toBe(false)
  })

  test('gives an answer or a RegexError for any pattern and text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (pattern, text) => {
        const reason = regexProblem(pattern)
        if (reason === undefined) expect(typeof compileRegex(pattern).test(text)).toBe('boolean')
        else expect(reason).toContain('error parsing regexp')
      }),
      { numRuns: 200 },
    )
  })
})

describe('patterns that make a backtracking engine hang', () => {
  const evil = [
    '^(a+)+$',
    '^(a|aa)+$',
    '^(a|a)*$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(a*)*b',
    '(.*a){12}b',
    '(x+x+)+y',
    '^(\\w+\\s?)*$',
  ]

  // Backtracking would need more steps than there are atoms: the test only ends if the engine is linear.
  test.each(evil)('%s ends on 50,000 characters', (pattern) => {
    expect(compileRegex(pattern).test(`${'a'.repeat(50_000)}!`)).toBe(false)
  })
})

describe('createRegexCache', () => {
  test('compiles a pattern once and forgets the one used longest ago', () => {
    const cache = createRegexCache(2)
    const a = cache.get('a')
    const b = cache.get('b')
    expect(cache.get('a')).toBe(a)
    cache.get('c')
    expect(cache.get('a')).toBe(a)
    expect(cache.get('b')).not.toBe(b)
  })

  test('keeps nothing of a bad pattern', () => {
    const cache = createRegexCache()
    expect(() => cache.get('(')).toThrow(RegexError)
    expect(() => cache.get('(')).toThrow(RegexError)
  })
})
