import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCel, evaluateCel, type CelEnv } from './cel.ts'
import { FUNCTIONS } from './library.ts'
import { MAX_EXPRESSION_LENGTH } from './syntax.ts'
import { BOOL, DYN, INT, listOf, mapOf, STRING } from './types.ts'

const env: CelEnv = {
  variables: { self: DYN, n: INT, s: STRING, l: listOf(INT), m: mapOf(STRING, STRING), b: BOOL },
}
const variables = {
  self: { a: 1, b: [1, 2, { c: 'x' }], d: null, e: 0.5, __proto__: { evil: true } },
  n: 5,
  s: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa!😀',
  l: [3, 1, 2],
  m: { k: 'v' },
  b: true,
}

/** Steps that one evaluation in these tests may take. */
const LIMIT = 20_000
/** The step that passes the limit may be that large: a regex over the longest text that the limit lets an expression build. */
const OVERSHOOT = 1_000_000_000

function mustEnd(expression: string): void {
  const compiled = compileCel(expression, env)
  if (!compiled.ok) {
    expect(compiled.problems).toMatch(/^ERROR: <input>:\d+:\d+: /)
    return
  }
  const out = evaluateCel(compiled.program, variables, { costLimit: LIMIT })
  if (out.ok || !out.exceeded) expect(out.cost).toBeLessThanOrEqual(LIMIT)
  else expect(out.cost).toBeLessThan(OVERSHOOT)
}

/** Pieces that make expressions which often compile. */
const ATOMS = [
  'self',
  'n',
  's',
  'l',
  'm',
  'b',
  '1',
  '2u',
  '1.5',
  '"a"',
  "r'[a-z]+'",
  'null',
  'true',
  '[]',
  '{}',
  'self.b',
  'int',
]
const METHODS = [...FUNCTIONS.keys()].filter((name) => /^[a-z]\w*$/i.test(name))
const BINARY = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in']
const LOOPS = ['all', 'exists', 'exists_one', 'map', 'filter']

const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...ATOMS),
    fc.tuple(tie('expression'), fc.constantFrom(...BINARY), tie('expression')).map(([a, op, c]) => `(${a} ${op} ${c})`),
    fc.tuple(tie('expression'), fc.constantFrom(...METHODS)).map(([a, f]) => `${a}.${f}()`),
    fc.tuple(tie('expression'), fc.constantFrom(...METHODS), tie('expression')).map(([a, f, x]) => `${a}.${f}(${x})`),
    fc.tuple(fc.constantFrom(...METHODS), tie('expression')).map(([f, x]) => `${f}(${x})`),
    fc.tuple(tie('expression'), fc.constantFrom(...LOOPS), tie('expression')).map(([a, f, x]) => `${a}.${f}(x, ${x})`),
    fc.tuple(tie('expression'), tie('expression')).map(([a, i]) => `${a}[${i}]`),
    fc.tuple(tie('expression'), fc.constantFrom('a', 'b', '__proto__', 'constructor')).map(([a, f]) => `${a}.${f}`),
    fc.tuple(tie('expression'), tie('expression'), tie('expression')).map(([a, x, y]) => `(${a} ? ${x} : ${y})`),
    tie('expression').map((a) => `dyn(${a})`),
  ),
}))

describe('whatever is written', () => {
  it('text of any kind never crashes or hangs', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), mustEnd), { numRuns: 500 })
  })

  it('tokens in any order never crash or hang', () => {
    const token = fc.constantFrom(
      ...ATOMS,
      ...BINARY,
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '.',
      ',',
      ':',
      '?',
      '!',
      '-',
      '"',
      "r'",
      '//',
      '\n',
      'has(',
      '.all(x,',
    )
    fc.assert(
      fc.property(
        fc.array(token, { maxLength: 30 }).map((t) => t.join(' ')),
        mustEnd,
      ),
      { numRuns: 1000 },
    )
  })

  it('expressions that look right end within their limit', () => {
    fc.assert(fc.property(expression, mustEnd), { numRuns: 2000 })
  })
})

describe('input made to hurt', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ['nested parentheses', `${'('.repeat(5000)}1${')'.repeat(5000)}`],
    ['nested lists', `${'['.repeat(5000)}1${']'.repeat(5000)}`],
    ['unary chains', `${'!'.repeat(10_000)}b`],
    ['minus chains', `${'-'.repeat(10_000)}n`],
    ['long sums', Array.from({ length: 3000 }, () => '1').join(' + ')],
    ['long conjunctions', Array.from({ length: 1500 }, () => 'b').join(' && ')],
    ['ternary chains', `${'b ? 1 : '.repeat(1000)}2`],
    ['select chains', `self${'.a'.repeat(4000)}`],
    ['too long', '1'.repeat(MAX_EXPRESSION_LENGTH + 1)],
    ['comparisons in chains', `${'b == '.repeat(1500)}b < b`],
    [
      'loops in loops',
      'l.all(a, l.all(b, l.all(c, l.all(d, l.all(e, l.all(f, l.all(g, l.all(h, l.all(i, l.all(j, true))))))))))',
    ],
    [
      'strings that double',
      `"${'x'.repeat(100)}"${'.replace("", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")'.repeat(20)}.size() > 0`,
    ],
    ['lists that double', `[l]${'.map(x, x + x)'.repeat(60)}.size() > 0`],
    ['a regex that backtracks', `"${'a'.repeat(5000)}!".matches("^(a+)+$")`],
    ['a regex of repeats', '"aaaa".matches("((a{100}){100}){100}")'],
    ['a regex of many repeats', '"aaaa".matches("(a{1000}){1000}")'],
    ['patterns made on the way', 'l.map(x, l.map(y, string(x * 100 + y).matches("(a{100}){9}" + string(x * 3 + y))))'],
    ['zones made on the way', 'l.all(x, timestamp(x).getHours("Nowhere/" + string(x)) == 0)'],
    ['a format that is wide', '"%.999999999f".format([1.0])'],
    ['huge numbers in text', `int("${'9'.repeat(9000)}")`],
    ['a long duration', `duration("${'9'.repeat(9000)}h")`],
  ]

  it.each(CASES)('%s', (_, text) => {
    mustEnd(text)
  })

  it('a long conjunction is still an expression', () => {
    expect(compileCel(Array.from({ length: 1500 }, () => 'b').join(' && '), env).ok).toBe(true)
  })

  it('what is on a prototype does not exist', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const compiled = compileCel(`m.${name}`, env)
      if (!compiled.ok) throw new Error(compiled.problems)
      expect(evaluateCel(compiled.program, { m: {} })).toMatchObject({ ok: false, error: `no such key: ${name}` })
    }
  })
})

describe('laws', () => {
  const value = (text: string, more: Record<string, unknown>) => {
    const compiled = compileCel(text, { variables: { a: INT, c: INT, s: STRING, t: STRING } })
    if (!compiled.ok) throw new Error(compiled.problems)
    const out = evaluateCel(compiled.program, more)
    return out.ok ? out.value : out.error
  }
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })

  it('arithmetic is exact or an overflow', () => {
    fc.assert(
      fc.property(int64, int64, (a, c) => {
        const sum = a + c
        expect(value('a + c', { a, c })).toBe(BigInt.asIntN(64, sum) === sum ? sum : 'integer overflow')
        const product = a * c
        expect(value('a * c', { a, c })).toBe(BigInt.asIntN(64, product) === product ? product : 'integer overflow')
      }),
      { numRuns: 200 },
    )
  })

  it('strings are ordered as their UTF-8 bytes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 })
    fc.assert(
      fc.property(text, text, (s, t) => {
        expect(value('s < t', { s, t })).toBe(Buffer.compare(Buffer.from(s), Buffer.from(t)) < 0)
      }),
      { numRuns: 300 },
    )
  })

  it('cutting a string anywhere and joining gives the string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.nat(12), (s, i) => {
        const at = BigInt(Math.min(i, Array.from(s).length))
        expect(value('s.substring(0, a) + s.substring(a) == s', { s, a: at })).toBe(true)
      }),
      { numRuns: 200 },
    )
  })
})
