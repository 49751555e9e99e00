// Operators over lists of plain values, read as sets. A list with an element of the wrong type is judged only if that element cannot matter.
import { MAX_SEEN_ITEMS } from '../limits.ts'
import { conjunction, disjunction, negate, verdictOf } from '../verdict.ts'
import type { Verdict } from '../verdict.ts'
import { badValue, bound, isScalarShape, listMisfit, scalarMisfit, wrongType } from './operator.ts'
import type { Operator, Scalar } from './operator.ts'
import type { Shape } from '../vocabulary.ts'

const LISTS = 'a list of strings, numbers or booleans'

const fitsList = (shape: Shape): boolean => shape.type === 'list' && isScalarShape(shape.items)

/** A list short enough to be walked. */
export const seenList = (seen: unknown): readonly unknown[] | undefined =>
  Array.isArray(seen) && seen.length <= MAX_SEEN_ITEMS ? seen : undefined

function has(seen: unknown, wanted: Scalar): Verdict {
  const list = seenList(seen)
  if (list === undefined) return 'unknown'
  if (list.includes(wanted)) return 'true'
  return list.every((item) => typeof item === typeof wanted) ? 'false' : 'unknown'
}

const itemMisfit = (value: unknown, shape: Shape) =>
  shape.type === 'list' ? scalarMisfit(value, shape.items) : wrongType('a value', value)

const holding = (name: string, doc: string, verdict: (has: Verdict) => Verdict): Operator => ({
  name,
  doc,
  readAs: 'value',
  accepts: LISTS,
  fits: fitsList,
  bind: (value, shape) => itemMisfit(value, shape) ?? bound((seen) => verdict(has(seen, value as Scalar))),
})

const holdingMany = (name: string, doc: string, join: (each: readonly Verdict[]) => Verdict): Operator => ({
  name,
  doc,
  readAs: 'value',
  accepts: LISTS,
  fits: fitsList,
  bind: (value, shape) => {
    const misfit = listMisfit(value) ?? (value as unknown[]).map((v) => itemMisfit(v, shape)).find((m) => m)
    return misfit ?? bound((seen) => join((value as Scalar[]).map((v) => has(seen, v))))
  },
})

const counting = (name: string, doc: string, holds: (n: number, wanted: number) => boolean): Operator => ({
  name,
  doc,
  readAs: 'value',
  accepts: 'a list',
  fits: (shape) => shape.type === 'list',
  bind: (value) => {
    if (typeof value !== 'number') return wrongType('a whole number', value)
    if (!Number.isSafeInteger(value) || value < 0) return badValue('a length must be a whole number, 0 or more')
    return bound((seen) => (Array.isArray(seen) ? verdictOf(holds(seen.length, value)) : 'unknown'))
  },
})

export const LIST_OPERATORS: readonly Operator[] = [
  holding('contains', 'The list contains this element.', (v) => v),
  holding('doesNotContain', 'The list is known and does not contain this element.', negate),
  holdingMany('containsAny', 'The list contains at least one of these.', disjunction),
  holdingMany('containsAll', 'The list contains all of these.', conjunction),
  holdingMany('containsNone', 'The list is known and contains none of these.', (each) => negate(disjunction(each))),
  counting('lengthAtLeast', 'The list has at least this many elements.', (n, wanted) => n >= wanted),
  counting('lengthAtMost', 'The list has at most this many elements.', (n, wanted) => n <= wanted),
]
