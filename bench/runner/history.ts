// One line a benchmark and night, and which figures moved since: each against the middle of the lines before it, times also as multiples of the yardstick of their own run. Pure.
import { isObject } from '#lib/json.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { benchErrors } from '../bench-errors.ts'
import { median, type Figures, type ServerKind } from '../result.ts'
import { betterWhen, isRate } from './direction.ts'
import { type Yardstick, yardstickMs } from './yardstick.ts'

export interface HistoryLine {
  readonly at: string
  readonly commit: string
  readonly machine: { readonly processor: string; readonly cores: number; readonly memory_gb: number }
  readonly yardstick: Yardstick
  readonly bench: string
  readonly server: ServerKind
  /** Sizes that were given; only runs of the same sizes are compared. */
  readonly numbers: Figures
  readonly figures: Figures
  readonly ratio: Figures
  /** Its times are those of a clock that jumps. */
  readonly isTimeless: boolean
}

export interface Moved {
  readonly bench: string
  readonly figure: string
  readonly now: number
  /** The middle of the lines before, as measured or as this machine would have measured it, whichever is nearer. */
  readonly before: number
  /** Of `now` to `before`; infinite from nought. */
  readonly times: number
  readonly lines: number
}

/** Lines before the newest that count. */
const LAST = 10
/** Less is noise. */
const SHARE = 0.15

export function historyLines(text: string): readonly HistoryLine[] {
  return text.split('\n').flatMap((line, n) => {
    if (line === '') return []
    try {
      const value: unknown = JSON.parse(line)
      if (isObject(value) && isObject(value['figures']) && isObject(value['yardstick']))
        return [value as unknown as HistoryLine]
    } catch {
      // Refused below.
    }
    throw new KubeNodeError(benchErrors.KN9008({ line: n + 1 }))
  })
}

/** Of the newest line of each benchmark and its sizes; those that moved most come first. */
export function movedFigures(lines: readonly HistoryLine[]): readonly Moved[] {
  const moved = [...Map.groupBy(lines, runOf).values()].flatMap((ofRun) => {
    const [newest, before] = [ofRun.at(-1), ofRun.slice(-LAST - 1, -1)]
    return newest === undefined || before.length === 0 ? [] : movedOf(newest, before)
  })
  return moved.toSorted((a, b) => distance(b.times) - distance(a.times))
}

const runOf = ({ bench, server, numbers }: HistoryLine): string =>
  JSON.stringify([bench, server, Object.entries(numbers).toSorted(([a], [b]) => (a < b ? -1 : 1))])

function movedOf(newest: HistoryLine, earlier: readonly HistoryLine[]): readonly Moved[] {
  return Object.entries(valuesOf(newest)).flatMap(([figure, now]) => {
    const values = earlier.flatMap((line) => {
      const value = valuesOf(line)[figure]
      return value === undefined ? [] : [{ plain: value, onThisMachine: value * unitOf(figure, newest, line) }]
    })
    if (values.length === 0) return []
    const before = nearestTo(now, median(values.map((v) => v.plain)), median(values.map((v) => v.onThisMachine)))
    const times = before === now ? 1 : now / before
    return distance(times) <= Math.log(1 + SHARE)
      ? []
      : [{ bench: newest.bench, figure, now, before, times, lines: values.length }]
  })
}

/**
 * Work takes longer on a slower machine, a wait does not, and most times have some of both. What lies between the two is no change, and what lies
 * outside counts from the nearer one.
 */
function nearestTo(now: number, plain: number, onThisMachine: number): number {
  const [least, most] = [Math.min(plain, onThisMachine), Math.max(plain, onThisMachine)]
  return Math.min(Math.max(now, least), most)
}

const valuesOf = ({ figures, ratio }: HistoryLine): Figures => ({
  ...figures,
  ...Object.fromEntries(Object.entries(ratio).map(([name, value]) => [`ratio ${name}`, value])),
})

/** A third less counts as much as half as much again. */
const distance = (times: number): number => Math.abs(Math.log(Math.abs(times)))

/** What a value of an earlier run is on the machine of the newest: times grow with the yardstick, rates shrink, and sizes and counts stay. */
function unitOf(figure: string, newest: HistoryLine, line: HistoryLine): number {
  if (newest.isTimeless || figure.startsWith('ratio ')) return 1
  const slower = yardstickMs(newest.yardstick) / yardstickMs(line.yardstick)
  if (isRate(figure)) return 1 / slower
  if (figure.includes('bytes')) return 1
  return /(^|_)m?s(_|$)/.test(figure) ? slower : 1
}

/** Of what moved, what is worse than before. */
export const isWorse = ({ figure, times }: Moved): boolean => {
  const direction = betterWhen(figure)
  return direction === 'Less' ? times > 1 : direction === 'More' && times < 1
}

export function movedTable(moved: readonly Moved[]): readonly string[] {
  if (moved.length === 0) return [`nothing moved by more than ${SHARE * 100}%`]
  const shown = (n: number) => n.toLocaleString('en', { maximumSignificantDigits: 3 })
  const rows = moved.map((one) => [
    one.bench,
    one.figure,
    shown(one.now),
    `${shown(one.before)} (middle of ${one.lines})`,
    `${shown(one.times)}x`,
    isWorse(one) ? 'worse' : betterWhen(one.figure) === 'Neither' ? '' : 'better',
  ])
  return aligned([['bench', 'figure', 'now', 'before', 'times', ''], ...rows])
}

/** Columns as wide as their widest cell. */
export function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
