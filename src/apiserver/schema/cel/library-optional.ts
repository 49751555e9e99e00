// Optional values: made, asked, taken out.
import { fn, method, type Overload } from './functions.ts'
import { BOOL, type CelType, optionalOf } from './types.ts'
import { MIN_TIMESTAMP } from './time.ts'
import { CelDuration, CelError, CelList, CelMap, CelOptional, CelTimestamp, CelUint, type CelValue } from './values.ts'

const A: CelType = { kind: 'var', name: 'A' }
const OPTIONAL = optionalOf(A)

function isZero(v: CelValue): boolean {
  if (v === null || v === false || v === 0n || v === 0 || v === '') return true
  if (v instanceof CelUint) return v.value === 0n
  if (v instanceof CelDuration) return v.nanos === 0n
  if (v instanceof CelTimestamp) return v.nanos === MIN_TIMESTAMP
  if (v instanceof CelList || v instanceof Uint8Array) return v.length === 0
  return v instanceof CelMap && v.size === 0
}

export const OPTIONAL_FUNCTIONS: readonly Overload[] = [
  fn('optional.of', [A], OPTIONAL, (v: CelValue) => new CelOptional(v)),
  fn('optional.none', [], OPTIONAL, () => CelOptional.none),
  fn('optional.ofNonZeroValue', [A], OPTIONAL, (v: CelValue) => (isZero(v) ? CelOptional.none : new CelOptional(v))),
  method('hasValue', [OPTIONAL], BOOL, (o: CelOptional) => o.value !== undefined),
  method('value', [OPTIONAL], A, (o: CelOptional) =>
    o.value === undefined ? new CelError('optional.none() dereference') : o.value,
  ),
  method('or', [OPTIONAL, OPTIONAL], OPTIONAL, (o: CelOptional, p: CelOptional) => (o.value === undefined ? p : o)),
  method('orValue', [OPTIONAL, A], A, (o: CelOptional, v: CelValue) => (o.value === undefined ? v : o.value)),
]
