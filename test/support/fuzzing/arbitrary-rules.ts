// Random rules and facts for properties of the rule engine: every operator family, every connective, and facts that are right, wrong, null,
// missing or absurd. The vocabulary is small, so that rules and facts meet.
import fc from 'fast-check'
import type { Vocabulary } from '#policy/vocabulary.ts'
import { defined } from '#lib/defined.ts'

export const RULE_NOW = Date.parse('2026-05-01T12:00:00Z')

export const SMALL_VOCABULARY: Vocabulary = {
  facts: {
    conditions: {
      type: 'map',
      of: {
        type: 'object',
        fields: { status: { type: 'string', since: 'at' }, at: { type: 'time' }, count: { type: 'number' } },
      },
    },
    pool: { type: 'string' },
    cordoned: { type: 'boolean' },
    taints: { type: 'list', items: { type: 'string' } },
    kernel: { type: 'version' },
    peers: { type: 'tally' },
  },
}

const words = fc.constantFrom('True', 'False', 'a', 'b', '')
const types = fc.constantFrom('X', 'Y')
const stamps = fc.integer({ min: -2, max: 20 }).map((minutes) => new Date(RULE_NOW - minutes * 60_000).toISOString())
const versions = fc.constantFrom('1.2.3', 'v1.3.0', '5.10.1-al8', 'none')
const durations = fc.constantFrom('0', '1m', '5m', '1h')

const onStatus = fc
  .tuple(
    types,
    fc.oneof(
      fc.record({
        operator: fc.constantFrom('equal', 'notEqual', 'not:equal', 'not:notEqual', 'startsWith'),
        value: words.filter((w) => w !== ''),
      }),
      fc.record({
        operator: fc.constantFrom('in', 'notIn', 'not:in', 'someValue:equal', 'everyValue:notEqual'),
        value: fc.array(words, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ operator: fc.constant('equal'), value: fc.constant({ fact: 'pool' }) }),
    ),
    fc.option(durations, { nil: undefined }),
  )
  .map(([type, leaf, held]) => ({
    fact: 'conditions',
    path: `/${type}/status`,
    ...leaf,
    ...defined({ for: held }),
  }))

const leaf: fc.Arbitrary<object> = fc.oneof(
  { weight: 4, arbitrary: onStatus },
  fc.record({ fact: fc.constant('pool'), operator: fc.constantFrom('equal', 'notEqual'), value: words }),
  fc.record({ fact: fc.constant('cordoned'), operator: fc.constantFrom('equal', 'notEqual'), value: fc.boolean() }),
  fc.record({
    fact: fc.constant('conditions'),
    path: types.map((type) => `/${type}/count`),
    operator: fc.constantFrom('equal', 'lessThan', 'greaterThanInclusive'),
    value: fc.integer({ min: -1, max: 2 }),
  }),
  fc.record({
    fact: fc.constant('conditions'),
    path: types.map((type) => `/${type}/at`),
    operator: fc.constantFrom('heldFor', 'changedWithin'),
    value: durations,
  }),
  fc.record({
    fact: fc.constant('taints'),
    operator: fc.constantFrom('contains', 'doesNotContain', 'someFact:equal', 'everyFact:equal', 'not:someFact:equal'),
    value: words,
  }),
  fc.record({
    fact: fc.constant('kernel'),
    operator: fc.constantFrom('semverLess', 'semverAtLeast', 'semverEqual'),
    value: versions.filter((v) => v !== 'none'),
  }),
  fc.record({
    fact: fc.constant('peers'),
    operator: fc.constantFrom('ratioAtLeast', 'ratioAtMost', 'ratioAbove', 'ratioBelow'),
    value: fc.constantFrom(0, 0.1, 0.5, 1),
  }),
  fc.record({
    fact: fc.constantFrom('conditions', 'pool'),
    path: fc.constant(''),
    operator: fc.constantFrom('exists', 'absent'),
  }),
  fc.record({
    fact: fc.constant('conditions'),
    path: types.map((t) => `/${t}/status`),
    operator: fc.constantFrom('exists', 'absent'),
  }),
)

const { term } = fc.letrec<{ term: object; group: object }>((tie) => ({
  term: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('group')),
  group: fc.oneof(
    fc.record({ all: fc.array(tie('term'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('term'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie('term') }),
  ),
}))

/** Well formed; every one compiles against SMALL_VOCABULARY. */
export const ruleDefinitions: fc.Arbitrary<object> = term.map((t) => ('fact' in t ? { all: [t] } : t))

const oneOrNone = <T>(a: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: a }, fc.constantFrom(null, undefined, 7, 'x', []))

/** What was observed, in part, and sometimes of the wrong shape. */
export const factSets = fc.record(
  {
    conditions: oneOrNone(
      fc.dictionary(
        types,
        oneOrNone(
          fc.record(
            { status: oneOrNone(words), at: oneOrNone(stamps), count: oneOrNone(fc.integer({ min: -1, max: 2 })) },
            { requiredKeys: [] },
          ),
        ),
        { maxKeys: 2 },
      ),
    ),
    pool: oneOrNone(words),
    cordoned: oneOrNone(fc.boolean()),
    taints: oneOrNone(fc.array(fc.oneof({ weight: 9, arbitrary: words }, fc.constant(1)), { maxLength: 3 })),
    kernel: oneOrNone(versions),
    peers: oneOrNone(fc.record({ count: fc.nat(3), unknown: fc.nat(3), total: fc.nat(12) })),
  },
  { requiredKeys: [] },
)
