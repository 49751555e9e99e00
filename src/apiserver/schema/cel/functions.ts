// The declaration of a CEL function: name, types, implementation, cost. The tables of the libraries are lists of these.
import type { Effort } from '#lib/effort.ts'
import { assertNever } from '#lib/errors.ts'
import type { Memo } from './memo.ts'
import type { CelType } from './types.ts'
import { CelError, CelList, CelMap, CelObject, CelOpaque, CelOptional, CelTimestamp, type CelValue } from './values.ts'
import { CelDuration, CelTypeValue, CelUint, sizeOf } from './values.ts'

/** One evaluation: its variables and its cost so far. */
export class Run {
  readonly slots: CelValue[]
  readonly limit: number
  readonly memo: Memo
  /** Pays for what is compiled and matched, besides the cost that the language counts. */
  readonly effort: Effort
  cost = 0
  #patterns: Set<string> | undefined

  constructor(slots: CelValue[], limit: number, memo: Memo, effort: Effort) {
    this.effort = effort
    this.slots = slots
    this.memo = memo
    this.limit = limit
  }

  /** The patterns that this evaluation has paid for. */
  get patterns(): Set<string> {
    return (this.#patterns ??= new Set())
  }

  /** Ends the evaluation when the limit is passed. */
  spend(steps: number): void {
    this.cost += steps
    if (this.cost > this.limit) throw new CostExceeded()
  }
}

export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** A planned expression. */
export type Eval = (run: Run) => CelValue

/** Called with values of the declared types and, after them, the run. */
export type Implementation = (...args: never[]) => CelValue
/** Charged before the function runs, so that nothing large is made first and paid for later. */
export type Cost = (args: readonly CelValue[]) => number

export interface Overload {
  readonly name: string
  readonly member: boolean
  readonly params: readonly CelType[]
  readonly result: CelType
  readonly impl: Implementation
  /** One step when absent. What grows with the result is charged by the implementation, before it is made. */
  readonly cost?: Cost
}

export function fn(
  name: string,
  params: readonly CelType[],
  result: CelType,
  impl: Implementation,
  cost?: Cost,
): Overload {
  return cost === undefined
    ? { name, member: false, params, result, impl }
    : { name, member: false, params, result, impl, cost }
}

/** The first parameter is what stands before the dot. */
export const method = (...given: Parameters<typeof fn>): Overload => ({ ...fn(...given), member: true })

export const NO_OVERLOAD = new CelError('no such overload')

/** What reading a whole string or list costs: a tenth of a step for each unit, rounded up. */
export const traversal = (size: number): number => Math.ceil(size * 0.1)

/** Costs what reading the first argument costs, `times` over. */
export const readsFirst =
  (times = 1): Cost =>
  ([first = null]) =>
    Math.ceil(sizeOf(first) * times * 0.1)

/** Charged by the implementation alone. */
export const free: Cost = () => 0

/** Whether a value may go where the type is asked for; parameters and dyn take everything. */
export function accepts(type: CelType, v: CelValue): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'var':
    case 'error':
      return true
    case 'null':
      return v === null
    case 'bool':
      return typeof v === 'boolean'
    case 'int':
      return typeof v === 'bigint'
    case 'double':
      return typeof v === 'number'
    case 'string':
      return typeof v === 'string'
    case 'uint':
      return v instanceof CelUint
    case 'bytes':
      return v instanceof Uint8Array
    case 'duration':
      return v instanceof CelDuration
    case 'timestamp':
      return v instanceof CelTimestamp
    case 'list':
      return v instanceof CelList
    case 'map':
      return v instanceof CelMap
    case 'object':
      return v instanceof CelObject
    case 'type':
      return v instanceof CelTypeValue
    case 'opaque':
      if (v instanceof CelOptional) return type.name === 'optional_type'
      return v instanceof CelOpaque && v.type.kind === 'opaque' && v.type.name === type.name
    default:
      return assertNever(type)
  }
}
