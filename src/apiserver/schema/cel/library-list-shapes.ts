// Functions that make new lists of lists: order, parts, levels, doubles.
import { celCompare, contains } from './equal.ts'
import { fn, free, method, type Overload, type Run } from './functions.ts'
import { DYN, type CelType, INT, listOf } from './types.ts'
import { CelError, CelList, type CelValue } from './values.ts'

const A: CelType = { kind: 'var', name: 'A' }
const LIST = listOf(A)

/** As the real library: more is not meant to be made out of nothing. */
const MAX_RANGE = 1_000_000n

function range(n: bigint, run: Run): CelValue {
  if (n > MAX_RANGE) return new CelError(`range size ${n} exceeds the limit of ${MAX_RANGE}`)
  run.spend(n > 0n ? Number(n) : 1)
  return CelList.of(Array.from({ length: Math.max(0, Number(n)) }, (_, i) => BigInt(i)))
}

function reverse(list: CelList, run: Run): CelValue {
  run.spend(list.length + 1)
  return CelList.of(list.toArray().reverse())
}

function sort(list: CelList, run: Run): CelValue {
  run.spend(list.length * Math.ceil(Math.log2(list.length + 2)))
  const items = list.toArray()
  const [first] = items
  if (first === undefined) return CelList.of([])
  if (celCompare(first, first) === undefined) return new CelError('list elements must be comparable')
  // Types that have an order between them are still different types.
  const kind = kindOf(first)
  if (items.some((i) => kindOf(i) !== kind)) return new CelError('list elements must have the same type')
  return CelList.of(items.toSorted((a, b) => celCompare(a, b) ?? 0))
}

const kindOf = (v: CelValue): unknown => (typeof v === 'object' && v !== null ? v.constructor : typeof v)

function slice(list: CelList, from: bigint, to: bigint, run: Run): CelValue {
  const cannot = (why: string): CelError => new CelError(`cannot slice(${from}, ${to}), ${why}`)
  if (from < 0n || to < 0n) return cannot('negative indexes not supported')
  if (from > to) return cannot('start index must be less than or equal to end index')
  if (to > list.length) return cannot(`list is length ${list.length}`)
  run.spend(Number(to - from) + 1)
  return CelList.of(list.toArray().slice(Number(from), Number(to)))
}

function distinct(list: CelList, run: Run): CelValue {
  const found: CelValue[] = []
  const sofar = CelList.of(found)
  for (const item of list.toArray()) {
    run.spend(1)
    if (!contains(sofar, item, (steps) => run.spend(steps * 0.1))) found.push(item)
  }
  return CelList.of(found)
}

function flatten(list: CelList, levels: bigint, run: Run): CelValue {
  if (levels < 0n) return new CelError('level must be non-negative')
  run.spend(list.length + 1)
  const flat: CelValue[] = []
  for (const item of list.toArray()) {
    if (!(item instanceof CelList) || levels === 0n) {
      flat.push(item)
      continue
    }
    const inner = flatten(item, levels - 1n, run)
    if (!(inner instanceof CelList)) return inner
    for (const part of inner.toArray()) flat.push(part)
  }
  return CelList.of(flat)
}

export const LIST_SHAPES: readonly Overload[] = [
  fn('lists.range', [INT], listOf(INT), range, free),
  method('reverse', [LIST], LIST, reverse, free),
  method('sort', [LIST], LIST, sort, free),
  method('slice', [LIST, INT, INT], LIST, slice, free),
  method('distinct', [LIST], LIST, distinct, free),
  method('flatten', [listOf(LIST)], LIST, (l: CelList, run: Run) => flatten(l, 1n, run), free),
  method('flatten', [listOf(DYN), INT], listOf(DYN), flatten, free),
]
