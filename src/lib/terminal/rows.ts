// Aligns rows of cells. On a terminal the widest columns are shortened with `…` until a row fits; where they would be meaningless, each row becomes a block of
// lines. In a pipe nothing is cut. Pure.

import { wrapped } from './wrap.ts'
import { defined } from '../defined.ts'

export const GAP = 3
/** A narrower column is meaningless. */
const MIN_WIDTH = 6

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

const total = (widths: readonly number[]): number => widths.reduce((sum, w) => sum + w + GAP, -GAP)

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:/

const STATES: ReadonlySet<string> = new Set(['PHASE', 'STATE', 'STATUS'])

/** Object names get copied, and half a state or time is useless. These stay whole. */
function isKept(rows: readonly (readonly string[])[], column: number): boolean {
  if (column === 0 || (column === 1 && rows[0]?.[0] === 'NAMESPACE') || STATES.has(rows[0]?.[column] ?? '')) return true
  return rows.some((row) => TIMESTAMP.test(row[column] ?? ''))
}

function narrowed(widths: readonly number[], kept: readonly boolean[], most: number): readonly number[] {
  const out = [...widths]
  for (let over = total(out) - most; over > 0; over = total(out) - most) {
    const rest = out.filter((_, i) => kept[i] !== true)
    const widest = Math.max(...rest)
    if (rest.length === 0 || widest <= MIN_WIDTH) return out
    const second = Math.max(MIN_WIDTH, ...rest.filter((w) => w < widest))
    const equal = rest.filter((w) => w === widest).length
    const less = Math.max(1, Math.min(widest - second, Math.ceil(over / equal)))
    for (const [i, w] of out.entries()) if (kept[i] !== true && w === widest) out[i] = Math.max(MIN_WIDTH, w - less)
  }
  return out
}

export function widthsOf(rows: readonly (readonly string[])[], most?: number): readonly number[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((r) => r[i]?.length ?? 0)))
  if (most === undefined) return widths
  const kept = widths.map((_, i) => isKept(rows, i))
  return narrowed(widths, kept, most)
}

export interface RowStyle {
  /** On a terminal: cells wider than their column are shortened. */
  readonly isCut?: boolean
  /** Colors a cell by its column's header; the text stays. */
  readonly paint?: (column: number, text: string) => string
  /** Half a cell would be misread, as of figures: where a row does not fit, each becomes a block of lines. */
  readonly isWhole?: boolean
  /** The first row has the column names; true if left out. */
  readonly hasHead?: boolean
  /** Columns that go below their row, the first of these first, until the others fit whole. */
  readonly below?: readonly string[]
}

/** One row. If nothing may be cut, a cell wider than its column pushes the others. */
export function alignedRow(row: readonly string[], widths: readonly number[], style: RowStyle = {}): string {
  const { isCut = false, paint = (_, text) => text } = style
  const last = row.findLastIndex((cell) => cell !== '')
  return row
    .slice(0, last + 1)
    .map((cell, i) => {
      const width = widths[i] ?? 0
      const shown = isCut && i > 0 ? cut(cell, width) : cell
      const gap = i === last ? '' : ' '.repeat(Math.max(0, width - shown.length) + GAP)
      return `${paint(i, shown)}${gap}`
    })
    .join('')
}

export function alignedRows(rows: readonly (readonly string[])[], most?: number, style: RowStyle = {}): string {
  const lowered = most === undefined ? undefined : withBelow(rows, most, style)
  if (lowered !== undefined) return lowered
  const widths = widthsOf(rows, style.isWhole === true ? undefined : most)
  if (most !== undefined && total(widths) > most) return blocks(rows, most, style)
  return rows.map((row) => alignedRow(row, widths, { ...style, isCut: most !== undefined })).join('\n')
}

/** What a cell without a value has, where an empty one would be a gap. */
const NOTHING: ReadonlySet<string> = new Set(['', '-'])

/** Undefined: all columns fit, or even fewer do not. */
function withBelow(rows: readonly (readonly string[])[], most: number, style: RowStyle): string | undefined {
  const [head = []] = rows
  const { below = [], ...rest } = style
  const lowered = below.filter((name) => head.includes(name))
  const count = lowered.findIndex((_, n) => fits(without(rows, lowered.slice(0, n)), most))
  const names = count === -1 ? lowered : lowered.slice(0, count)
  const upper = without(rows, names)
  if (names.length === 0 || !fits(upper, most)) return undefined
  const left = Math.max(...names.map((name) => name.length))
  const lines = alignedRows(upper, most, rest).split('\n')
  return rows
    .flatMap((row, n) => [
      lines[n] ?? '',
      ...names.flatMap((name) => {
        const cell = row[head.indexOf(name)] ?? ''
        if (n === 0 || NOTHING.has(cell)) return []
        const label = `  ${name.padEnd(left)}  `
        const [first = '', ...more] = wrapped(cell, Math.max(MIN_WIDTH, most - label.length))
        return [`${label}${first}`, ...more.map((line) => `${' '.repeat(label.length)}${line}`)]
      }),
    ])
    .join('\n')
}

const without = (rows: readonly (readonly string[])[], names: readonly string[]): readonly (readonly string[])[] =>
  rows.map((row) => row.filter((_, i) => !names.includes(rows[0]?.[i] ?? '')))

const fits = (rows: readonly (readonly string[])[], most: number): boolean => total(widthsOf(rows)) <= most

/** Prints later rows in the first ones' columns. Reads the window width each time, since it may have shrunk. */
export function laterRows(
  first: readonly (readonly string[])[],
  { width, paint, hasHead }: RowStyle & { readonly width: () => number | undefined },
): (row: readonly string[], mark?: string) => string {
  const head = first[0] ?? []
  return (row, mark = '') => {
    const all = width()
    const most = all === undefined ? undefined : Math.max(MIN_WIDTH, all - mark.length)
    const widths = widthsOf(first, most)
    const style = defined({ paint, hasHead })
    if (most !== undefined && total(widths) > most)
      return `${blocks(hasHead === false ? [row] : [head, row], most, style)}${mark}`
    return `${alignedRow(row, widths, { ...style, isCut: most !== undefined })}${mark}`
  }
}

/** Each row's first cell, and below it the others with their column names. Words stay whole. */
function blocks(all: readonly (readonly string[])[], most: number, { paint, hasHead = true }: RowStyle): string {
  const head = hasHead ? all[0] : undefined
  const left = Math.max(0, ...(head ?? []).slice(1).map((name) => name.length))
  const linesOf = (row: readonly string[]): readonly string[] =>
    row.flatMap((cell, i) => {
      if (i === 0) return [paint?.(0, cell) ?? cell]
      if (cell === '') return []
      const label = `  ${head === undefined ? '' : `${(head[i] ?? '').padEnd(left)}  `}`
      const [first = '', ...more] = wrapped(cell, Math.max(MIN_WIDTH, most - label.length))
      return [`${label}${paint?.(i, first) ?? first}`, ...more.map((line) => `${' '.repeat(label.length)}${line}`)]
    })
  return (head === undefined ? all : all.slice(1)).map((row) => linesOf(row).join('\n')).join('\n')
}
