// The operators: arithmetic that never mixes types and never wraps around, order, equality, membership, indexing.
import { celCompare, celEqual, contains, mapKeyOf } from './equal.ts'
import { type Cost, fn, NO_OVERLOAD, type Overload, type Run, traversal } from './functions.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from './time.ts'
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, INT, listOf, mapOf, optionalOf, STRING } from './types.ts'
import { TIMESTAMP, UINT } from './types.ts'
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  sizeOf,
} from './values.ts'

const A: CelType = { kind: 'var', name: 'A' }
const B: CelType = { kind: 'var', name: 'B' }

const MIN_INT = -(2n ** 63n)
const MAX_INT = 2n ** 63n - 1n
const MAX_UINT = 2n ** 64n - 1n

export const intResult = (n: bigint): CelValue => (n < MIN_INT || n > MAX_INT ? new CelError('integer overflow') : n)
export const uintResult = (n: bigint): CelValue =>
  n < 0n || n > MAX_UINT ? new CelError('unsigned integer overflow') : new CelUint(n)
const durationResult = (n: bigint): CelValue =>
  n < MIN_INT || n > MAX_INT ? new CelError('duration overflow') : new CelDuration(n)
const timestampResult = (n: bigint): CelValue =>
  n < MIN_TIMESTAMP || n > MAX_TIMESTAMP ? new CelError('timestamp overflow') : new CelTimestamp(n)

const bothSizes: Cost = ([a = null, b = null]) => traversal(sizeOf(a) + sizeOf(b))
const smallerSize: Cost = ([a = null, b = null]) => traversal(Math.min(sizeOf(a), sizeOf(b)))

const arithmetic: readonly Overload[] = [
  fn('-_', [INT], INT, (a: bigint) => intResult(-a)),
  fn('-_', [DOUBLE], DOUBLE, (a: number) => -a),
  fn('_+_', [INT, INT], INT, (a: bigint, b: bigint) => intResult(a + b)),
  fn('_-_', [INT, INT], INT, (a: bigint, b: bigint) => intResult(a - b)),
  fn('_*_', [INT, INT], INT, (a: bigint, b: bigint) => intResult(a * b)),
  fn('_/_', [INT, INT], INT, (a: bigint, b: bigint) =>
    b === 0n ? new CelError('division by zero') : intResult(a / b),
  ),
  fn('_%_', [INT, INT], INT, (a: bigint, b: bigint) => (b === 0n ? new CelError('modulus by zero') : intResult(a % b))),
  fn('_+_', [UINT, UINT], UINT, (a: CelUint, b: CelUint) => uintResult(a.value + b.value)),
  fn('_-_', [UINT, UINT], UINT, (a: CelUint, b: CelUint) => uintResult(a.value - b.value)),
  fn('_*_', [UINT, UINT], UINT, (a: CelUint, b: CelUint) => uintResult(a.value * b.value)),
  fn('_/_', [UINT, UINT], UINT, (a: CelUint, b: CelUint) =>
    b.value === 0n ? new CelError('division by zero') : uintResult(a.value / b.value),
  ),
  fn('_%_', [UINT, UINT], UINT, (a: CelUint, b: CelUint) =>
    b.value === 0n ? new CelError('modulus by zero') : uintResult(a.value % b.value),
  ),
  fn('_+_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a + b),
  fn('_-_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a - b),
  fn('_*_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a * b),
  fn('_/_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a / b),
  fn('_+_', [STRING, STRING], STRING, (a: string, b: string) => a + b, bothSizes),
  fn('_+_', [BYTES, BYTES], BYTES, (a: Uint8Array, b: Uint8Array) => Uint8Array.from([...a, ...b]), bothSizes),
  fn('_+_', [listOf(A), listOf(A)], listOf(A), addLists),
  fn('_+_', [DURATION, DURATION], DURATION, (a: CelDuration, b: CelDuration) => durationResult(a.nanos + b.nanos)),
  fn('_-_', [DURATION, DURATION], DURATION, (a: CelDuration, b: CelDuration) => durationResult(a.nanos - b.nanos)),
  fn('_+_', [TIMESTAMP, DURATION], TIMESTAMP, (a: CelTimestamp, b: CelDuration) => timestampResult(a.nanos + b.nanos)),
  fn('_+_', [DURATION, TIMESTAMP], TIMESTAMP, (a: CelDuration, b: CelTimestamp) => timestampResult(a.nanos + b.nanos)),
  fn('_-_', [TIMESTAMP, DURATION], TIMESTAMP, (a: CelTimestamp, b: CelDuration) => timestampResult(a.nanos - b.nanos)),
  fn('_-_', [TIMESTAMP, TIMESTAMP], DURATION, (a: CelTimestamp, b: CelTimestamp) => durationResult(a.nanos - b.nanos)),
]

/** Concatenation; a set adds only new elements, a list with keys replaces the element of the same key in place. */
function addLists(a: CelList, b: CelList, run: Run): CelValue {
  run.spend(a.length + b.length)
  const items = a.toArray()
  const kind = a.type.listKind ?? 'atomic'
  if (kind === 'atomic') return new CelList([...items, ...b.toArray()], a.type)
  const spend = (steps: number): void => run.spend(steps)
  if (kind === 'set') {
    const more = b.toArray().filter((x) => !contains(a, x, spend))
    return new CelList([...items, ...more], a.type)
  }
  const places = new Map(items.map((x, i) => [mapKeyOf(x, kind), i]))
  for (const x of b.toArray()) items[places.get(mapKeyOf(x, kind)) ?? items.length] = x
  return new CelList(items, a.type)
}

type Order = (c: number) => boolean

function ordering(holds: Order): (a: CelValue, b: CelValue) => CelValue {
  return (a, b) => {
    const c = celCompare(a, b)
    if (c === undefined) return NO_OVERLOAD
    return Number.isNaN(c) ? new CelError('NaN values cannot be ordered') : holds(c)
  }
}

const NUMBERS = [INT, UINT, DOUBLE]

function relation(name: string, holds: Order): Overload[] {
  const impl = ordering(holds)
  const same = [BOOL, ...NUMBERS, TIMESTAMP, DURATION].map((t) => fn(name, [t, t], BOOL, impl))
  const mixed = NUMBERS.flatMap((a) => NUMBERS.filter((b) => b !== a).map((b) => fn(name, [a, b], BOOL, impl)))
  return [...same, ...[STRING, BYTES].map((t) => fn(name, [t, t], BOOL, impl, smallerSize)), ...mixed]
}

/** What is compared besides the first level costs a tenth of a step each, as the first level does. */
const deepSpend = (run: Run) => (steps: number) => run.spend(steps * 0.1)

const comparison: readonly Overload[] = [
  fn('_==_', [A, A], BOOL, (a: CelValue, b: CelValue, run: Run) => celEqual(a, b, deepSpend(run)), smallerSize),
  fn('_!=_', [A, A], BOOL, (a: CelValue, b: CelValue, run: Run) => !celEqual(a, b, deepSpend(run)), smallerSize),
  ...relation('_<_', (c) => c < 0),
  ...relation('_<=_', (c) => c <= 0),
  ...relation('_>_', (c) => c > 0),
  ...relation('_>=_', (c) => c >= 0),
  fn('!_', [BOOL], BOOL, (a: boolean) => !a),
  fn(
    '@in',
    [A, listOf(A)],
    BOOL,
    (a: CelValue, l: CelList, run: Run) => contains(l, a, deepSpend(run)),
    ([, l = null]) => sizeOf(l),
  ),
  fn('@in', [A, mapOf(A, B)], BOOL, (a: CelValue, m: CelMap) => m.get(a) !== undefined),
]

const keyText = (key: CelValue): string => (key instanceof CelUint ? String(key.value) : String(key))

function indexOfList(list: CelList, index: CelValue): CelValue {
  const i = index instanceof CelUint ? Number(index.value) : Number(index)
  if (!Number.isInteger(i)) return new CelError(`unsupported index value: ${keyText(index)}`)
  return i >= 0 && i < list.length ? list.at(i) : new CelError(`index out of bounds: ${i}`)
}

export const noSuchKey = (key: CelValue): CelError => new CelError(`no such key: ${keyText(key)}`)

function valueAt(m: CelMap, key: CelValue): CelValue {
  const value = m.get(key)
  return value === undefined ? noSuchKey(key) : value
}

const optional = (v: CelValue): CelValue => (v instanceof CelError ? CelOptional.none : new CelOptional(v))

function indexOptional(container: CelOptional, key: CelValue): CelValue {
  const { value } = container
  if (value instanceof CelList) return optional(indexOfList(value, key))
  if (value instanceof CelMap) return optional(valueAt(value, key))
  return value === undefined ? CelOptional.none : NO_OVERLOAD
}

const indexing: readonly Overload[] = [
  fn('_[_]', [listOf(A), INT], A, indexOfList),
  fn('_[_]', [mapOf(A, B), A], B, valueAt),
  fn('_[_]', [optionalOf(listOf(A)), INT], optionalOf(A), indexOptional),
  fn('_[_]', [optionalOf(mapOf(A, B)), A], optionalOf(B), indexOptional),
  fn('_[?_]', [listOf(A), INT], optionalOf(A), (l: CelList, i: bigint) => optional(indexOfList(l, i))),
  fn('_[?_]', [mapOf(A, B), A], optionalOf(B), (m: CelMap, k: CelValue) => optional(valueAt(m, k))),
  fn('_[?_]', [optionalOf(listOf(A)), INT], optionalOf(A), indexOptional),
  fn('_[?_]', [optionalOf(mapOf(A, B)), A], optionalOf(B), indexOptional),
]

export const OPERATORS: readonly Overload[] = [...arithmetic, ...comparison, ...indexing]
