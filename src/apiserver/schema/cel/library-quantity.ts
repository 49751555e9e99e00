// Quantities of Kubernetes in CEL: quantity("1Gi").isGreaterThan(quantity("500Mi")).
import { formatQuantity, parseQuantity, type Quantity, QUANTITY_MESSAGE } from '#lib/quantity.ts'
import { fn, method, type Overload, readsFirst } from './functions.ts'
import { intResult } from './operators.ts'
import { BOOL, DOUBLE, INT, opaque, STRING } from './types.ts'
import { CelBox, CelError, type CelOpaque, type CelValue } from './values.ts'

export const QUANTITY = opaque('kubernetes.Quantity')
const NANO = 1_000_000_000n

class CelQuantity extends CelBox<Quantity> {
  readonly type = QUANTITY

  get nanos(): bigint {
    return this.of.nanos
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CelQuantity && other.nanos === this.nanos
  }

  plus(nanos: bigint): CelQuantity {
    return new CelQuantity({ ...this.of, nanos: this.nanos + nanos })
  }

  /** Whole values that fit 64 bits. */
  get integer(): bigint | undefined {
    const whole = this.nanos / NANO
    return this.nanos % NANO === 0n && BigInt.asIntN(64, whole) === whole ? whole : undefined
  }
}

function parse(text: string): CelValue {
  const quantity = parseQuantity(text)
  return quantity === undefined ? new CelError(QUANTITY_MESSAGE) : new CelQuantity(quantity)
}

const compare = (a: CelQuantity, b: CelQuantity): bigint =>
  BigInt(Number(a.nanos > b.nanos) - Number(a.nanos < b.nanos))
const sign = (q: CelQuantity): bigint => BigInt(Number(q.nanos > 0n) - Number(q.nanos < 0n))

function asInteger(q: CelQuantity): CelValue {
  const { integer } = q
  return integer === undefined ? new CelError('cannot convert value to integer') : intResult(integer)
}

const Q = QUANTITY

export const QUANTITY_FUNCTIONS: readonly Overload[] = [
  fn('quantity', [STRING], Q, parse, readsFirst()),
  fn('isQuantity', [STRING], BOOL, (s: string) => parseQuantity(s) !== undefined, readsFirst()),
  fn('string', [Q], STRING, (q: CelQuantity) => formatQuantity(q.of)),
  method('sign', [Q], INT, sign),
  method('isInteger', [Q], BOOL, (q: CelQuantity) => q.integer !== undefined),
  method('asInteger', [Q], INT, asInteger),
  method('asApproximateFloat', [Q], DOUBLE, (q: CelQuantity) => Number(q.nanos) / 1e9),
  method('compareTo', [Q, Q], INT, compare),
  method('isGreaterThan', [Q, Q], BOOL, (a: CelQuantity, b: CelQuantity) => a.nanos > b.nanos),
  method('isLessThan', [Q, Q], BOOL, (a: CelQuantity, b: CelQuantity) => a.nanos < b.nanos),
  method('add', [Q, Q], Q, (a: CelQuantity, b: CelQuantity) => a.plus(b.nanos)),
  method('add', [Q, INT], Q, (a: CelQuantity, n: bigint) => a.plus(n * NANO)),
  method('sub', [Q, Q], Q, (a: CelQuantity, b: CelQuantity) => a.plus(-b.nanos)),
  method('sub', [Q, INT], Q, (a: CelQuantity, n: bigint) => a.plus(-n * NANO)),
]
