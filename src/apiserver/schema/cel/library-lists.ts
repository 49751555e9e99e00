// Functions on lists and maps: sizes, sums, order, sets.
import { celCompare, celEqual, contains } from './equal.ts'
import { type Cost, fn, method, NO_OVERLOAD, type Overload, type Run } from './functions.ts'
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, INT, listOf, mapOf, STRING, TIMESTAMP, UINT } from './types.ts'
import { intResult, uintResult } from './operators.ts'
import { CelDuration, CelError, type CelList, type CelMap, CelUint, type CelValue, sizeOf } from './values.ts'

const A: CelType = { kind: 'var', name: 'A' }
const B: CelType = { kind: 'var', name: 'B' }
const LIST = listOf(A)

const ORDERED = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES]
const walk: Cost = ([list = null]) => sizeOf(list)

/** What looking for each element of one list in the other can take. */
const product: Cost = ([a = null, b = null]) => sizeOf(a) * sizeOf(b)

const count = (v: CelList | CelMap | Uint8Array): bigint => BigInt(sizeOf(v))

function isSorted(list: CelList): CelValue {
  for (let i = 1; i < list.length; i++) {
    const c = celCompare(list.at(i - 1), list.at(i))
    if (c === undefined) return NO_OVERLOAD
    if (c > 0) return false
  }
  return true
}

function extreme(name: string, wins: (c: number) => boolean) {
  return (list: CelList): CelValue => {
    if (list.length === 0) return new CelError(`${name} called on empty list`)
    let best = list.at(0)
    for (let i = 1; i < list.length; i++) {
      const item = list.at(i)
      const c = celCompare(item, best)
      if (c === undefined) return NO_OVERLOAD
      if (wins(c)) best = item
    }
    return best
  }
}

function sum(zero: CelValue) {
  return (list: CelList): CelValue => {
    // Of a dyn list only the elements say what is added.
    let total = list.length === 0 ? zero : list.at(0)
    for (let i = 1; i < list.length; i++) {
      total = add(total, list.at(i))
      if (total instanceof CelError) return total
    }
    return total
  }
}

function add(a: CelValue, b: CelValue): CelValue {
  if (typeof a === 'bigint' && typeof b === 'bigint') return intResult(a + b)
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (a instanceof CelUint && b instanceof CelUint) return uintResult(a.value + b.value)
  if (a instanceof CelDuration && b instanceof CelDuration) return new CelDuration(a.nanos + b.nanos)
  return NO_OVERLOAD
}

/** Comparing elements costs beyond the walk only what is inside them. */
const inside = (run: Run) => (steps: number) => run.spend(steps * 0.1)

function indexOf(list: CelList, wanted: CelValue, run: Run): CelValue {
  for (let i = 0; i < list.length; i++) if (celEqual(list.at(i), wanted, inside(run))) return BigInt(i)
  return -1n
}

function lastIndexOf(list: CelList, wanted: CelValue, run: Run): CelValue {
  for (let i = list.length - 1; i >= 0; i--) if (celEqual(list.at(i), wanted, inside(run))) return BigInt(i)
  return -1n
}

const containsAll = (a: CelList, b: CelList, run: Run): boolean => b.toArray().every((x) => contains(a, x, inside(run)))
const equivalent = (a: CelList, b: CelList, run: Run): boolean => containsAll(a, b, run) && containsAll(b, a, run)
const intersects = (a: CelList, b: CelList, run: Run): boolean => b.toArray().some((x) => contains(a, x, inside(run)))

const perType = (types: readonly CelType[], make: (t: CelType) => Overload): Overload[] => types.map(make)

export const LIST_FUNCTIONS: readonly Overload[] = [
  ...[BYTES, LIST, mapOf(A, B)].flatMap((t) => [fn('size', [t], INT, count), method('size', [t], INT, count)]),
  ...perType(ORDERED, (t) => method('isSorted', [listOf(t)], BOOL, isSorted, walk)),
  ...perType(ORDERED, (t) =>
    method(
      'min',
      [listOf(t)],
      t,
      extreme('min', (c) => c < 0),
      walk,
    ),
  ),
  ...perType(ORDERED, (t) =>
    method(
      'max',
      [listOf(t)],
      t,
      extreme('max', (c) => c > 0),
      walk,
    ),
  ),
  method('sum', [listOf(INT)], INT, sum(0n), walk),
  method('sum', [listOf(UINT)], UINT, sum(new CelUint(0n)), walk),
  method('sum', [listOf(DOUBLE)], DOUBLE, sum(0), walk),
  method('sum', [listOf(DURATION)], DURATION, sum(new CelDuration(0n)), walk),
  method('indexOf', [LIST, A], INT, indexOf, walk),
  method('lastIndexOf', [LIST, A], INT, lastIndexOf, walk),
  fn('sets.contains', [LIST, LIST], BOOL, containsAll, product),
  fn('sets.equivalent', [LIST, LIST], BOOL, equivalent, product),
  fn('sets.intersects', [LIST, LIST], BOOL, intersects, product),
]
