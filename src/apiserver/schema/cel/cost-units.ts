// What estimates of costs count in.
import type { Sized } from './cost-size.ts'
import type { CelType } from './types.ts'

/** Sizes of a value; Infinity where nothing bounds it. */
export interface Size {
  readonly min: number
  readonly max: number
}

export interface Estimate {
  readonly cost: number
  /** Undefined when nothing is known. */
  readonly size: Size | undefined
  /** The schema that the value comes from, if it comes from one. */
  readonly sized: Sized | undefined
  readonly type: CelType
}

export const UNKNOWN: Size = { min: 0, max: Number.POSITIVE_INFINITY }
export const exactly = (n: number): Size => ({ min: n, max: n })
export const sizeOrUnknown = (e: Estimate | undefined): Size => e?.size ?? UNKNOWN
/** Infinity times nothing is nothing. */
export const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b)
export const tenth = (n: number, factor = 0.1): number => Math.ceil(n * factor)
