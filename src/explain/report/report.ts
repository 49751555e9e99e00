// The form of every report: tables of cells, each a number or a text, and what cannot be known with the reason. Faces draw it; nothing here knows a face. Pure.
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'

/** For people and for programs. A value of null: not known, and never 0 for it. */
export interface Cell {
  readonly text: string
  readonly value: number | string | null
  /** What the cell names. */
  readonly object?: { readonly kind: string; readonly name: string; readonly namespace?: string }
}

export interface Bar {
  readonly label: string
  /** Undefined: not known. */
  readonly value: number | undefined
  readonly text: string
}

export interface Chart {
  /** Rows: one below the other, for names. Columns: side by side, for days. */
  readonly form: 'rows' | 'columns'
  readonly title: string
  /** The full length of a bar; the largest value when left out. */
  readonly most?: number
  readonly bars: readonly Bar[]
}

export interface Section {
  readonly title: string
  /** What the figures mean. */
  readonly about: string
  /** Kind of the objects behind the figures. */
  readonly kind?: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  readonly chart?: Chart
}

export interface Report {
  readonly title: string
  /** Or how many, if they are several. */
  readonly cluster: string
  readonly clusters?: readonly string[]
  /** Milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly headline: { readonly text: string; readonly value: number | null }
  readonly sections: readonly Section[]
  /** What is not known, and why. */
  readonly unknown: readonly string[]
}

export const UNKNOWN: Cell = { text: 'unknown', value: null }

export const word = (text: string): Cell => ({ text, value: text })

/** The name of an object. */
export const named = (kind: string, name: string, namespace?: string): Cell => ({
  text: name,
  value: name,
  object: { kind, name, ...defined({ namespace }) },
})

export const count = (n: number | undefined): Cell =>
  n === undefined ? UNKNOWN : { text: n.toLocaleString('en'), value: n }

const PERCENT = 100
const DIGITS = 3

/** Of a whole that may be empty: then there is no share. */
export const share = (part: number | undefined, of: number | undefined): number | undefined =>
  part === undefined || of === undefined || of === 0 ? undefined : part / of

export const percentText = (of: number, digits = 1): string => `${(of * PERCENT).toFixed(digits)} %`

export const percent = (of: number | undefined, digits = 1): Cell =>
  of === undefined ? UNKNOWN : { text: percentText(of, digits), value: Number(of.toFixed(digits + DIGITS)) }

export const duration = (seconds: number | undefined): Cell =>
  seconds === undefined
    ? UNKNOWN
    : { text: seconds < 0.5 ? '0s' : formatDuration(Math.round(seconds) * 1_000), value: Number(seconds.toFixed(1)) }

export const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, v) => sum + v, 0) / values.length

/** How often each key occurs, the most frequent first. */
export function countsOf<T>(items: Iterable<T>, keyOf: (item: T) => string): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
}

/** A page shows so many rows of one table; the others are counted in a last one. */
const MOST_ROWS = 50

export function limited(rows: readonly (readonly Cell[])[], columns: number): readonly (readonly Cell[])[] {
  if (rows.length <= MOST_ROWS) return rows
  const more = rows.length - MOST_ROWS
  return [...rows.slice(0, MOST_ROWS), [word(`${more} more`), ...Array.from({ length: columns - 1 }, () => word(''))]]
}
