// Whether a value exists. Only these operators can judge a missing value; for a fact that was not observed they return unknown too.
import { verdictOf } from '../verdict.ts'
import { badValue, bound } from './operator.ts'
import type { Operator } from './operator.ts'

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

export const PRESENCE_OPERATORS: readonly Operator[] = [
  present('exists', 'The value exists.', true),
  present('absent', 'The parent was observed, and the value does not exist.', false),
]
