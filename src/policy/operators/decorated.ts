// Resolves a name such as `not:someFact:startsWith` to its operator: one operator with json-rules-engine's decorators, three-valued.
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { MAX_DECORATORS, MAX_SEEN_LIST_CHARS } from '../limits.ts'
import { conjunction, disjunction, negate, verdictOf } from '../verdict.ts'
import { type Shape, describeShape } from '../vocabulary.ts'
import { RULE_CODES } from '../problem.ts'
import { LIST_OPERATORS, seenList } from './list-operators.ts'
import { bound, listMisfit, type Bound, type Misfit, type Operator, type Test, badValue } from './operator.ts'
import { SCALAR_OPERATORS } from './scalar-operators.ts'
import { TALLY_OPERATORS } from './tally-operators.ts'
import { TEXT_OPERATORS } from './text-operators.ts'
import { TIME_OPERATORS } from './time-operators.ts'
import { VERSION_OPERATORS } from './version-operators.ts'

/** Whether a value exists. Only these operators can judge a missing value; for a fact that was not observed they return unknown too. */
const present = (name: string, doc: string, wanted: boolean): Operator => ({
  name,
  doc,
  readAs: 'presence',
  accepts: 'anything',
  fits: () => true,
  bind: (value) =>
    value === undefined || value === true
      ? bound((seen) => (typeof seen === 'boolean' ? verdictOf(seen === wanted) : 'unknown'))
      : badValue(`${name} takes no value (or true)`),
})

const PRESENCE_OPERATORS: readonly Operator[] = [
  present('exists', 'The value exists.', true),
  present('absent', 'The parent was observed, and the value does not exist.', false),
]

export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  [
    SCALAR_OPERATORS,
    LIST_OPERATORS,
    TEXT_OPERATORS,
    TIME_OPERATORS,
    VERSION_OPERATORS,
    TALLY_OPERATORS,
    PRESENCE_OPERATORS,
  ]
    .flat()
    .map((o) => [o.name, o]),
)

/** Spellings used by other rule engines. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['=', 'equal'],
  ['==', 'equal'],
  ['is', 'equal'],
  ['!=', 'notEqual'],
  ['<', 'lessThan'],
  ['<=', 'lessThanInclusive'],
  ['>', 'greaterThan'],
  ['>=', 'greaterThanInclusive'],
  ['regex', 'matches'],
  ['for', 'heldFor'],
  ['olderThan', 'heldFor'],
])

type Decorate = (inner: Operator) => Operator

/** Binds the inner operator to each element of the value. */
const overValues =
  (join: typeof conjunction): Decorate =>
  (inner) => ({
    ...withoutComparison(inner),
    bind: (value, shape) => {
      const misfit = listMisfit(value)
      if (misfit) return misfit
      const each = (value as unknown[]).map((v) => inner.bind(v, shape))
      const wrong = each.find((b) => b.kind === 'misfit')
      if (wrong) return wrong
      const all = each.filter((b): b is Bound => b.kind === 'bound')
      const cost = all.reduce((sum, b) => sum + (b.cost ?? 0), 0)
      return bound((seen) => join(all.map((b) => b.test(seen))), { cost })
    },
  })

const overElements =
  (join: (test: Test, list: readonly unknown[]) => ReturnType<Test>): Decorate =>
  (inner) => ({
    ...withoutComparison(inner),
    accepts: `a list of elements that are each ${inner.accepts}`,
    fits: (shape) => shape.type === 'list' && inner.readAs === 'value' && inner.fits(shape.items),
    bind: (value, shape) => {
      const items: Shape = shape.type === 'list' ? shape.items : shape
      const each = inner.bind(value, items)
      if (each.kind === 'misfit') return each
      return bound(
        (seen) => {
          const list = seenList(seen)
          return list === undefined || isTooMuchText(list) ? 'unknown' : join(each.test, list)
        },
        { cost: each.cost ?? 0 },
      )
    },
  })

function isTooMuchText(list: readonly unknown[]): boolean {
  let chars = 0
  for (const item of list) chars += typeof item === 'string' ? item.length : 0
  return chars > MAX_SEEN_LIST_CHARS
}

const inverted: Decorate = (inner) => {
  const { compare } = inner
  return {
    ...inner,
    bind: (value, shape) => {
      const b = inner.bind(value, shape)
      if (b.kind === 'misfit') return b
      return bound((seen) => negate(b.test(seen)), {
        ...defined({ onlyFor: b.falseOnlyFor, falseOnlyFor: b.onlyFor }),
        cost: b.cost ?? 0,
      })
    },
    ...(compare === undefined ? {} : { compare: (a: unknown, b: unknown) => negate(compare(a, b)) }),
  }
}

interface Decorator {
  readonly doc: string
  readonly decorate: Decorate
}
const decorator = (doc: string, decorate: Decorate): Decorator => ({ doc, decorate })

/** Prefix of an operator, as in `not:equal`. */
export const DECORATORS: ReadonlyMap<string, Decorator> = new Map([
  ['not', decorator('The opposite; unknown stays unknown.', inverted)],
  [
    'someFact',
    decorator(
      'Of a fact that is a list: at least one element.',
      overElements((test, list) => disjunction(list.map(test))),
    ),
  ],
  [
    'everyFact',
    decorator(
      'Of a fact that is a list: all elements; of an empty list unknown.',
      // In an empty list, every test is true of every element; a rule must not fire because of that.
      overElements((test, list) => (list.length === 0 ? 'unknown' : conjunction(list.map(test)))),
    ),
  ],
  ['someValue', decorator('The value is a list: at least one of them.', overValues(disjunction))],
  ['everyValue', decorator('The value is a list: all of them.', overValues(conjunction))],
])

function withoutComparison({ name, doc, readAs, accepts, fits, bind }: Operator): Operator {
  return { name, doc, readAs, accepts, fits, bind }
}

export const isMisfit = (x: Operator | Misfit): x is Misfit => 'kind' in x

export function findOperator(name: string): Operator | Misfit {
  const words = name.split(':', MAX_DECORATORS + 2)
  const last = words.pop() ?? ''
  if (words.length > MAX_DECORATORS)
    return { kind: 'misfit', code: RULE_CODES.unknownOperator, message: `more than ${MAX_DECORATORS} decorators` }
  let operator = OPERATORS.get(last)
  if (operator === undefined) return unknownWord('operator', last, [...OPERATORS.keys()])
  for (const word of words.toReversed()) {
    const found = DECORATORS.get(word)
    if (found === undefined) return unknownWord('decorator', word, [...DECORATORS.keys()])
    operator = found.decorate(operator)
  }
  return { ...operator, name }
}

function unknownWord(what: string, word: string, known: readonly string[]): Misfit {
  const near = ALIASES.get(word) ?? didYouMean(word, known)
  const seen = JSON.stringify(word.slice(0, 80))
  return {
    kind: 'misfit',
    code: RULE_CODES.unknownOperator,
    message: `unknown ${what} ${seen}`,
    ...defined({ didYouMean: near }),
    known,
  }
}

/** The operators for a shape, for messages. */
export const operatorsFor = (shape: Shape): string =>
  `${describeShape(shape)} takes ${[...OPERATORS.values()]
    .filter((o) => o.fits(shape))
    .map((o) => o.name)
    .join(', ')}`
