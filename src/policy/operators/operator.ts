// What an operator is: the shapes it accepts, the values it compares with, and a test that returns unknown for anything it cannot judge. The value is
// bound once, when the rule is compiled, so wrong types, regexes and ranges are found then, not at three in the morning.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { MAX_VALUE_CHARS, MAX_VALUE_ITEMS } from '../limits.ts'
import { RULE_CODES } from '../problem.ts'
import type { RuleProblem } from '../problem.ts'
import type { ReadAs } from '../reading.ts'
import { describeShape } from '../vocabulary.ts'
import type { Shape } from '../vocabulary.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { Verdict } from '../verdict.ts'

export type Scalar = string | number | boolean
export type Test = (seen: unknown) => Verdict

export interface Bound {
  readonly kind: 'bound'
  readonly test: Test
  /** The test can be true only for these values; used by the index. */
  readonly onlyFor?: readonly Scalar[]
  /** The test can be false only for these values. */
  readonly falseOnlyFor?: readonly Scalar[]
  /** Instructions of its regexes; limited for a whole rule. */
  readonly cost?: number
}

export interface Misfit extends Omit<RuleProblem, 'pointer'> {
  readonly kind: 'misfit'
}

export interface Operator {
  readonly name: string
  readonly doc: string
  readonly readAs: ReadAs
  /** The accepted shapes, in words. */
  readonly accepts: string
  readonly fits: (shape: Shape) => boolean
  readonly bind: (value: unknown, shape: Shape) => Bound | Misfit
  /** For a second fact instead of a value. */
  readonly compare?: (seen: unknown, other: unknown) => Verdict
}

export const bound = (test: Test, hints: Omit<Bound, 'kind' | 'test'> = {}): Bound => ({
  kind: 'bound',
  test,
  ...hints,
})

export const wrongType = (wanted: string, seen: unknown): Misfit => ({
  kind: 'misfit',
  code: RULE_CODES.wrongValueType,
  message: `the value must be ${wanted}, not ${show(seen)}`,
})

export const badValue = (message: string): Misfit => ({ kind: 'misfit', code: RULE_CODES.badValue, message })

/** A value for messages, cut to a readable length. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'object' && value !== null ? (Array.isArray(value) ? 'a list' : 'an object') : undefined
  if (text !== undefined) return text
  const json = JSON.stringify(value) ?? typeof value
  return json.length > 80 ? `${json.slice(0, 77)}...` : json
}

/** What is wrong with the value; undefined for a string, number or boolean that a fact of this shape can have. */
export function scalarMisfit(value: unknown, shape: Shape): Misfit | undefined {
  if (typeof value === 'string') {
    if (value.length > MAX_VALUE_CHARS) return badValue(`the text is longer than ${MAX_VALUE_CHARS} characters`)
    if (shape.type !== 'string') return wrongType(describeShape(shape), value)
    if (shape.values === undefined || shape.values.includes(value)) return undefined
    const near = didYouMean(value, shape.values)
    return {
      ...badValue(`${show(value)} can never be seen here`),
      ...defined({ didYouMean: near }),
      known: shape.values,
    }
  }
  if (typeof value === 'number' && Number.isFinite(value) && shape.type === 'number') return undefined
  if (typeof value === 'boolean' && shape.type === 'boolean') return undefined
  return wrongType(describeShape(shape), value)
}

/** What is wrong with the list; it needs 1 to MAX_VALUE_ITEMS values. */
export function listMisfit(value: unknown): Misfit | undefined {
  if (!Array.isArray(value)) return wrongType('a list', value)
  if (value.length === 0) return badValue('the list is empty, so nothing could match')
  if (value.length > MAX_VALUE_ITEMS)
    return badValue(`the list has ${value.length} elements, at most ${MAX_VALUE_ITEMS}`)
  return undefined
}

export const isScalarShape = (shape: Shape): boolean =>
  shape.type === 'string' || shape.type === 'number' || shape.type === 'boolean'

export const isFactReference = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && Object.hasOwn(value, 'fact')
