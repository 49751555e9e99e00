// For any text as a rule, and any report of a node, the engine answers: no crash, no hang, no code run, no prototype touched (S10, S11, S12).
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { renderExplanation } from '#policy/explanation.ts'
import { MAX_PROBLEMS, MAX_REGEX_CHARS, MAX_RULE_DEPTH } from '#policy/limits.ts'
import { nodeFacts, nodeVocabulary } from '#policy/node-vocabulary.ts'
import type { Facts } from '#policy/reading.ts'
import { createRuleset } from '#policy/ruleset.ts'
import { factSets, RULE_NOW, ruleDefinitions, SMALL_VOCABULARY } from '#test/support/fuzzing/arbitrary-rules.ts'

const vocabulary = nodeVocabulary()

/** Compiles, evaluates and explains as far as possible; the verdict, or the codes of the problems. */
async function attempt(definition: unknown, facts: Facts, words = vocabulary): Promise<string> {
  const result = compileRule('fuzz', definition, words)
  if (!result.ok) {
    expect(result.problems.length).toBeGreaterThan(0)
    expect(result.problems.length).toBeLessThanOrEqual(MAX_PROBLEMS)
    for (const { code, message } of result.problems) expect([code, message.length < 4_000]).toEqual([code, true])
    return result.problems.map((p) => p.code).join()
  }
  const evaluation = await evaluate(createRuleset([result.rule]), facts, RULE_NOW)
  const explanation = evaluation.explain('fuzz')
  if (explanation === undefined) throw new Error('a rule of the set has no explanation')
  renderExplanation(explanation)
  expect(evaluation.fired.length === 1).toBe(explanation.verdict === 'true')
  return explanation.verdict
}

const polluted = () => Object.keys(Object.prototype).length > 0 || 'polluted' in {}

afterEach(() => expect(polluted()).toBe(false))

/** JSON that looks like rules: the right keys in wrong places, prototype keys, wrong types. */
const keys = fc.constantFrom(
  ...'all any not fact path operator value for name condition params priority event'.split(' '),
  ...'__proto__ constructor prototype toString hasOwnProperty then'.split(' '),
)
const strings = fc.oneof(
  fc.constantFrom(
    'conditions',
    'now',
    'labels',
    '/X/status',
    '/__proto__/x',
    '$..x',
    'equal',
    'not:in',
    'someFact:matches',
    'matches',
    '5m',
    'True',
  ),
  keys,
  fc.string({ maxLength: 20, unit: 'binary' }),
)
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'medium' },
    strings,
    fc.oneof(fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie('json')), { maxLength: 5 }).map(objectOf),
  ),
}))

/** Own keys, `__proto__` included, as JSON.parse makes them. */
function objectOf(entries: readonly (readonly [string, unknown])[]): object {
  const o = {}
  for (const [key, value] of entries)
    Object.defineProperty(o, key, { value, enumerable: true, configurable: true, writable: true })
  return o
}

describe('arbitrary rules', () => {
  it('are compiled or refused with numbers', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (definition) => void (await attempt(definition, {}))),
      { numRuns: 3_000 },
    )
  })

  it('are compiled or refused where a leaf is nearly right', async () => {
    const base = fc.record(
      { fact: strings, path: strings, operator: strings, value: json, for: json },
      { requiredKeys: ['fact', 'operator'] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(base, { minLength: 1, maxLength: 3 }), json, async (leaves, facts) => {
        await attempt({ any: leaves }, { conditions: facts, labels: facts })
      }),
      { numRuns: 2_000 },
    )
  })

  it('survive one broken place in a good rule', async () => {
    await fc.assert(
      fc.asyncProperty(ruleDefinitions, fc.nat(), json, factSets, async (definition, at, junk, facts) => {
        await attempt(replaceAt(definition, at, junk), facts, SMALL_VOCABULARY)
      }),
      { numRuns: 1_000 },
    )
  })
})

/** A copy with the n-th value (of those it has) replaced. */
function replaceAt(value: object, n: number, junk: unknown): unknown {
  const total = JSON.stringify(value).split(/[:,[]/).length
  let left = n % total
  return JSON.parse(JSON.stringify(value), (_key, v: unknown) =>
    left-- === 0 ? (JSON.parse(JSON.stringify(junk ?? null)) as unknown) : v,
  )
}

describe('arbitrary facts', () => {
  it('are judged or unknown', async () => {
    await fc.assert(
      fc.asyncProperty(
        ruleDefinitions,
        fc.dictionary(fc.constantFrom(...Object.keys(SMALL_VOCABULARY.facts)), json),
        async (definition, facts) => {
          expect(['true', 'false', 'unknown']).toContain(await attempt(definition, facts, SMALL_VOCABULARY))
        },
      ),
      { numRuns: 1_500 },
    )
  })

  it('are read from arbitrary Node objects', () => {
    fc.assert(
      fc.property(json, json, json, (metadata, spec, status) => {
        nodeFacts({ metadata, spec, status })
        nodeFacts(status)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('prototype keys', () => {
  const parse = (text: string): unknown => JSON.parse(text)
  const cases: readonly (readonly [string, unknown, unknown, string])[] = [
    [
      'a label named __proto__ is data',
      parse('{"all":[{"fact":"labels","path":"/__proto__","operator":"equal","value":"x"}]}'),
      parse('{"__proto__":"x"}'),
      'true',
    ],
    [
      'a label named __proto__ that is not there',
      parse('{"all":[{"fact":"labels","path":"/__proto__","operator":"exists"}]}'),
      {},
      'false',
    ],
    [
      'a label named constructor is data',
      { all: [{ fact: 'labels', path: '/constructor', operator: 'equal', value: 'x' }] },
      { constructor: 'x' },
      'true',
    ],
    [
      'a label named constructor that is not there',
      { all: [{ fact: 'labels', path: '/constructor', operator: 'exists' }] },
      {},
      'false',
    ],
    [
      'beneath the prototype there is nothing',
      { all: [{ fact: 'labels', path: '/constructor/prototype', operator: 'exists' }] },
      {},
      'KN4005',
    ],
    [
      '__proto__ as a field of a leaf is refused',
      parse('{"all":[{"fact":"name","operator":"exists","__proto__":{"polluted":1}}]}'),
      {},
      'KN4005',
    ],
    [
      '__proto__ as a field of a group is refused',
      parse('{"all":[{"fact":"name","operator":"exists"}],"__proto__":{"polluted":1}}'),
      {},
      'KN4005',
    ],
    [
      'constructor as an operator is refused',
      { all: [{ fact: 'name', operator: 'constructor', value: 1 }] },
      {},
      'KN4005',
    ],
    [
      'a second fact named __proto__ is refused',
      parse('{"all":[{"fact":"name","operator":"equal","value":{"fact":"__proto__"}}]}'),
      {},
      'KN4005',
    ],
  ]
  it.each(cases)('%s', async (_name, definition, labels, outcome) => {
    expect(await attempt(definition, { labels })).toBe(outcome)
  })
})

describe('JSONPath, which can hold code, is refused', () => {
  it.each([
    '$..[?(@.constructor.constructor("globalThis.polluted=1")())]',
    '$[(this.constructor.constructor("return process")().exit())]',
    '$.labels[?(@.x=="a")]',
    'labels.x',
    '@',
    '..',
    '^',
  ])('%s', async (path) => {
    expect(await attempt({ all: [{ fact: 'labels', path, operator: 'exists' }] }, { labels: { x: 'a' } })).toBe(
      'KN4001',
    )
    expect('polluted' in globalThis).toBe(false)
  })
})

describe('S12 evil regexes', () => {
  const evil =
    String.raw`(a+)+$ ([a-zA-Z]+)*$ (a|aa)+$ (a|a?)+$ (.*a){20}$ ^(([a-z])+.)+[A-Z]([a-z])+$ (x+x+)+y (\w*)*\d
    ((a{0,5}){0,5}){0,5}[bc] (?:a?){50}a{50}$ .*.*.*.*.*=.* (a*)*b [ab]*a[ab]{200}[cd]`.split(/\s+/)
  it.each(evil)(
    '%s is linear in the text',
    async (pattern) => {
      const rule = { all: [{ fact: 'name', operator: 'matches', value: pattern }] }
      // A back-tracking engine needs 2^30 steps and more for these; RE2 some 20 a character and state.
      for (const tail of ['!', 'X', 'b', '=', 'y', '0'])
        expect(['true', 'false']).toContain(await attempt(rule, { name: 'a'.repeat(4_000) + tail }))
    },
    20_000,
  )

  it.each([
    '(a)\\1',
    '(?=a)b',
    '(?<!a)b',
    '(?<n>a)\\k<n>',
    'a{1001}',
    '((a{100}){100}){100}',
    '(a?){300}a{300}$',
    '(a?){500}a{500}$',
    '[',
    '(',
    '\\',
    'a'.repeat(MAX_REGEX_CHARS + 1),
  ])('what RE2 does not have is refused: %s', async (pattern) =>
    expect(await attempt({ all: [{ fact: 'name', operator: 'matches', value: pattern }] }, {})).toBe('KN4001'),
  )

  it('many together are refused like one', async () => {
    const leaf = { fact: 'name', operator: 'matches', value: '[ab]*a[ab]{200}[cd]' }
    expect(await attempt({ any: Array.from({ length: 9 }, () => leaf) }, { name: 'ab' })).toBe('false')
    expect(await attempt({ any: Array.from({ length: 10 }, () => leaf) }, {})).toBe('KN4001')
  })

  it('arbitrary patterns never throw', async () => {
    const pattern = fc.stringMatching(/^[ab()[\]{}*+?|^$.\\0-9,:<=!-]{0,30}$/)
    await fc.assert(
      fc.asyncProperty(pattern, fc.string({ maxLength: 50 }), async (value, name) => {
        await attempt({ all: [{ fact: 'name', operator: 'matches', value }] }, { name })
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('deep nesting', () => {
  const nest = (depth: number, wrap: (inner: unknown) => unknown) => {
    let rule: unknown = { fact: 'name', operator: 'exists' }
    for (let i = 0; i < depth; i++) rule = wrap(rule)
    return rule
  }
  const wraps: readonly (readonly [string, (inner: unknown) => unknown])[] = [
    ['all', (inner) => ({ all: [inner] })],
    ['any', (inner) => ({ any: [inner] })],
    ['not', (inner) => ({ not: inner })],
    ['lists', (inner) => [inner]],
    ['values', (inner) => ({ fact: 'name', operator: 'equal', value: inner })],
  ]
  it.each(wraps)('of %s is refused without recursing into it', async (_name, wrap) => {
    expect(await attempt(nest(100_000, wrap), {})).toMatch(/^KN400[123]$/)
  })

  it.each(wraps.slice(0, 3))(`of %s up to ${MAX_RULE_DEPTH} levels is fine`, async (_name, wrap) => {
    expect(await attempt(nest(MAX_RULE_DEPTH, wrap), { name: 'n' })).toBe('true')
  })
})
