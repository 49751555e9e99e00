// json-rules-engine's own comparisons of single values, made strict: an observed value of another type is unknown, never coerced.
import { verdictOf } from '../verdict.ts'
import type { Verdict } from '../verdict.ts'
import { bound, isScalarShape, listMisfit, scalarMisfit } from './operator.ts'
import type { Operator, Scalar } from './operator.ts'
import { negate } from '../verdict.ts'

const SCALARS = 'a string, number or boolean'

const isComparable = (v: unknown): v is Scalar =>
  typeof v === 'string' || typeof v === 'boolean' || (typeof v === 'number' && !Number.isNaN(v))

const isEqual = (seen: unknown, wanted: unknown): Verdict =>
  isComparable(seen) && isComparable(wanted) && typeof seen === typeof wanted ? verdictOf(seen === wanted) : 'unknown'

const equal: Operator = {
  name: 'equal',
  doc: 'The value equals this one.',
  readAs: 'value',
  accepts: SCALARS,
  fits: isScalarShape,
  bind: (value, shape) =>
    scalarMisfit(value, shape) ?? bound((seen) => isEqual(seen, value), { onlyFor: [value as Scalar] }),
  compare: isEqual,
}

const notEqual: Operator = {
  ...equal,
  name: 'notEqual',
  doc: 'The value is known and differs from this one.',
  bind: (value, shape) =>
    scalarMisfit(value, shape) ?? bound((seen) => negate(isEqual(seen, value)), { falseOnlyFor: [value as Scalar] }),
  compare: (seen, other) => negate(isEqual(seen, other)),
}

const oneOf: Operator = {
  name: 'in',
  doc: 'The value is one of these.',
  readAs: 'value',
  accepts: SCALARS,
  fits: isScalarShape,
  bind: (value, shape) => {
    const misfit = listMisfit(value) ?? (value as unknown[]).map((v) => scalarMisfit(v, shape)).find((m) => m)
    if (misfit) return misfit
    const wanted = new Set(value as Scalar[])
    const type = shape.type
    return bound((seen) => (typeof seen === type && isComparable(seen) ? verdictOf(wanted.has(seen)) : 'unknown'), {
      onlyFor: [...wanted],
    })
  },
}

const notIn: Operator = {
  ...oneOf,
  name: 'notIn',
  doc: 'The value is known and none of these.',
  bind: (value, shape) => {
    const inner = oneOf.bind(value, shape)
    if (inner.kind === 'misfit') return inner
    return bound((seen) => negate(inner.test(seen)), { falseOnlyFor: inner.onlyFor ?? [] })
  },
}

const ordering = (name: string, doc: string, holds: (a: number, b: number) => boolean): Operator => {
  const compare = (seen: unknown, other: unknown): Verdict =>
    typeof seen === 'number' && typeof other === 'number' && !Number.isNaN(seen) && !Number.isNaN(other)
      ? verdictOf(holds(seen, other))
      : 'unknown'
  return {
    name,
    doc,
    readAs: 'value',
    accepts: 'a number',
    fits: (shape) => shape.type === 'number',
    bind: (value, shape) => scalarMisfit(value, shape) ?? bound((seen) => compare(seen, value)),
    compare,
  }
}

export const SCALAR_OPERATORS: readonly Operator[] = [
  equal,
  notEqual,
  oneOf,
  notIn,
  ordering('lessThan', 'The number is smaller.', (a, b) => a < b),
  ordering('lessThanInclusive', 'The number is smaller or equal.', (a, b) => a <= b),
  ordering('greaterThan', 'The number is larger.', (a, b) => a > b),
  ordering('greaterThanInclusive', 'The number is larger or equal.', (a, b) => a >= b),
]
