// When two values are equal and which comes first, as CEL says: numbers across types, lists of sets without order, lists of
// maps by key. Work is bounded: `spend` is called for each compared element.
import { formatType, type ListKind } from './types.ts'
import {
  BuiltMap,
  CelDuration,
  CelList,
  CelMap,
  CelObject,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
} from './values.ts'

export type Spend = (steps: number) => void

export function celEqual(a: CelValue, b: CelValue, spend: Spend): boolean {
  if (a === b) return true
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) === 0
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (a instanceof CelList) return b instanceof CelList && listsEqual(a, b, spend)
  if (a instanceof CelMap) return b instanceof CelMap && mapsEqual(a, b, spend)
  if (a instanceof CelObject) return b instanceof CelObject && objectsEqual(a, b, spend)
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanos === b.nanos
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.name === b.name
  if (a instanceof CelOpaque) return b instanceof CelOpaque && formatType(a.type) === formatType(b.type) && a.equals(b)
  if (a instanceof CelOptional && b instanceof CelOptional)
    return a.value === undefined || b.value === undefined ? a.value === b.value : celEqual(a.value, b.value, spend)
  return false
}

function listsEqual(a: CelList, b: CelList, spend: Spend): boolean {
  if (a.length !== b.length) return false
  const kind = unordered(a) ?? unordered(b)
  if (kind !== undefined) return sameElements(a, b, kind, spend)
  for (let i = 0; i < a.length; i++) {
    spend(1)
    if (!celEqual(a.at(i), b.at(i), spend)) return false
  }
  return true
}

const unordered = (l: CelList): ListKind | undefined => (l.type.listKind === 'atomic' ? undefined : l.type.listKind)

/** Each element of one list is an element of the other; of lists with keys, under the same keys. */
function sameElements(a: CelList, b: CelList, kind: ListKind, spend: Spend): boolean {
  if (kind === 'set') return a.toArray().every((x) => contains(b, x, spend))
  const byKey = new Map(b.toArray().map((x) => [mapKeyOf(x, kind), x]))
  return a.toArray().every((x) => {
    spend(1)
    const other = byKey.get(mapKeyOf(x, kind))
    return other !== undefined && celEqual(x, other, spend)
  })
}

export function contains(list: CelList, wanted: CelValue, spend: Spend): boolean {
  for (let i = 0; i < list.length; i++) {
    spend(1)
    if (celEqual(list.at(i), wanted, spend)) return true
  }
  return false
}

/** The identity of an element in a list with keys. */
export function mapKeyOf(element: CelValue, kind: ListKind): string {
  if (!(element instanceof CelObject) || typeof kind !== 'object') return ''
  return JSON.stringify(kind.mapKeys.map((k) => String(element.data[k])))
}

function mapsEqual(a: CelMap, b: CelMap, spend: Spend): boolean {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    spend(1)
    const [x, y] = [a.get(key), b.get(key)]
    if (x === undefined || y === undefined || !celEqual(x, y, spend)) return false
  }
  return true
}

function objectsEqual(a: CelObject, b: CelObject, spend: Spend): boolean {
  for (const escaped of a.type.fields.keys()) {
    spend(1)
    const [x, y] = [a.get(escaped), b.get(escaped)]
    if (x === undefined || y === undefined) {
      if (x !== y) return false
    } else if (!celEqual(x, y, spend)) return false
  }
  return true
}

type CelNumber = bigint | number | CelUint

const isNumber = (v: CelValue): v is CelNumber => typeof v === 'bigint' || typeof v === 'number' || v instanceof CelUint

/** JavaScript compares a bigint with a number exactly; NaN is neither less, equal nor greater. */
function compareNumbers(a: CelNumber, b: CelNumber): number {
  const x = a instanceof CelUint ? a.value : a
  const y = b instanceof CelUint ? b.value : b
  if (x < y) return -1
  if (x > y) return 1
  return x >= y ? 0 : Number.NaN
}

/** By code point, which is the order of the UTF-8 bytes that the real server compares. */
function compareStrings(a: string, b: string): number {
  const n = Math.min(a.length, b.length)
  for (let i = 0; i < n; i++) {
    if (a.charCodeAt(i) === b.charCodeAt(i)) continue
    const [x, y] = [order(a.charCodeAt(i)), order(b.charCodeAt(i))]
    return x < y ? -1 : 1
  }
  return a.length - b.length
}

/** Surrogates represent code points above all other units. */
const order = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** Less than, equal, greater than zero; NaN when not ordered; undefined when the types have no order between them. */
export function celCompare(a: CelValue, b: CelValue): number | undefined {
  if (typeof a === 'string') return typeof b === 'string' ? compareStrings(a, b) : undefined
  if (isNumber(a)) return isNumber(b) ? compareNumbers(a, b) : undefined
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : undefined
  if (a instanceof CelTimestamp && b instanceof CelTimestamp)
    return Number(a.nanos > b.nanos) - Number(a.nanos < b.nanos)
  if (a instanceof CelDuration && b instanceof CelDuration) return Number(a.nanos > b.nanos) - Number(a.nanos < b.nanos)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  return undefined
}

/** The keys of a map sorted, so that what is walked does not depend on the order of arrival. */
export const sortedKeys = (m: CelMap): CelValue[] =>
  m instanceof BuiltMap ? m.keys() : m.keys().sort((a, b) => celCompare(a, b) ?? 0)
