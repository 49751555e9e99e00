// One calm display: on a terminal a block of lines redrawn in place, elsewhere one line per change and nothing else.
import { printableLine } from '../printable.ts'

export interface Screen {
  /** A startup step or an event; stays on the screen. */
  print(line: string): void
  readonly isTerminal: boolean
  /**
   * Pins a secret line, such as a sign-in link, at the top of the display until the next one replaces it. A log keeps lines for years: only a terminal gets it,
   * a file or pipe gets `otherwise`, once.
   */
  pinForPerson(line: string, otherwise: string): void
  /** Replaces the current display. */
  show(lines: readonly string[]): void
  /** Leaves the last picture and stops redrawing. */
  end(): void
}

export interface ScreenOptions {
  readonly isTerminal: boolean
  /** Lets the terminal wrap a line longer than the window, for lines that people copy; otherwise it is cut. */
  readonly foldsLongLines?: boolean
  /** Colors a line without changing its text. */
  readonly paint?: (line: string) => string
  /** Read for each picture: windows change. */
  readonly size?: () => { readonly columns: number; readonly rows: number }
}

const up = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A`)
const CLEAR_REST_OF_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'
const CLEAR_WINDOW = '\u001b[2J\u001b[H'
/** Without a terminal, lines of this many recent pictures are not printed again: a flapping state is printed once. */
const PICTURES_REMEMBERED = 8
/** A picture shown this often is stable: its returning lines are printed, or a log would end with an outdated state. */
const SHOWN_TO_STAY = 10

/** Rows of a line that the terminal wraps. */
const rowsOf = (line: string, columns: number): number => Math.max(1, Math.ceil(line.length / columns))

/** How many lines fit, with room for the cursor and, if not all fit, for a line about the rest. */
function endOfRows(lines: readonly string[], columns: number, rows: number): number {
  const ends: number[] = []
  for (const line of lines) ends.push((ends.at(-1) ?? 0) + rowsOf(line, columns))
  if ((ends.at(-1) ?? 0) < rows) return lines.length
  return Math.max(1, ends.filter((end) => end <= rows - 2).length)
}

export function createScreen(
  write: (text: string) => void,
  {
    isTerminal,
    foldsLongLines = false,
    paint = (line) => line,
    size = () => ({ columns: 100, rows: 50 }),
  }: ScreenOptions,
): Screen {
  let drawn = 0
  let pinned: readonly string[] = []
  /** As shown, without the pinned line. */
  let shown: readonly string[] = []
  /** Window width of the last picture. */
  let drawnColumns = 0
  let last: readonly string[] = []
  const pictures: (readonly string[])[] = []
  /** Lines of the picture that were in an earlier one but not in the previous one, and have not been printed again yet. */
  let back: readonly string[] = []
  let timesShown = 0

  /** A wrapped line or a scrolled display would break the count of lines to move up. */
  const fit = (lines: readonly string[]): readonly string[] => {
    const { columns, rows } = size()
    const end = endOfRows(lines, foldsLongLines ? columns : Number.POSITIVE_INFINITY, rows)
    const short = end === lines.length ? lines : [...lines.slice(0, end), '…']
    if (foldsLongLines) return short
    return short.map((l) => (l.length < columns ? l : `${l.slice(0, Math.max(0, columns - 2))}…`))
  }

  /** When a window changes its width, some terminals rewrap lines and others do not: it is then unknown how far up the picture starts. */
  const isTorn = (columns: number): boolean =>
    columns !== drawnColumns && last.some((l) => l.length >= Math.min(columns, drawnColumns))

  /** Overwrites each line without blanking it first, so nothing flickers. */
  const redraw = (lines: readonly string[]): void => {
    const { columns } = size()
    const rows = drawn === 0 ? 0 : last.reduce((sum, line) => sum + rowsOf(line, columns), 0)
    const start = drawn > 0 && isTorn(columns) ? CLEAR_WINDOW : `${up(rows)}\r`
    // After a line that fills its last row exactly, this would clear its last character.
    const rest = (line: string) => (line !== '' && line.length % columns === 0 ? '' : CLEAR_REST_OF_LINE)
    write(`${start}${lines.map((l) => `${paint(l)}${rest(l)}\n`).join('')}${CLEAR_BELOW}`)
    drawnColumns = columns
  }

  const print = (lines: readonly string[]): void => {
    const known = new Set(pictures.flat())
    const before = new Set(pictures.at(-1))
    for (const line of lines) if (!known.has(line)) write(`${paint(line)}\n`)
    back = lines.filter((line) => known.has(line) && (!before.has(line) || back.includes(line)))
    timesShown = 1
    pictures.push(lines)
    if (pictures.length > PICTURES_REMEMBERED) pictures.shift()
  }

  const stay = (): void => {
    if (++timesShown !== SHOWN_TO_STAY) return
    for (const line of back) write(`${paint(line)}\n`)
    back = []
  }

  const draw = (): void => {
    const picture = isTerminal ? fit([...pinned, ...shown]) : shown
    if (picture.join('\n') === last.join('\n')) {
      if (!isTerminal) stay()
      return
    }
    if (isTerminal) redraw(picture)
    else print(picture)
    last = picture
    drawn = isTerminal ? picture.length : 0
  }

  const printLine = (text: string): void => {
    const lines = text.split('\n').map(printableLine)
    // Log lines are printed above the display, which is redrawn unchanged below them.
    if (isTerminal && drawn > 0) redraw([...lines, ...last])
    else write(lines.map((line) => `${paint(line)}\n`).join(''))
  }

  return {
    isTerminal,
    print: printLine,
    pinForPerson(line, otherwise) {
      const isFirst = pinned.length === 0
      pinned = [printableLine(line)]
      if (isTerminal) draw()
      else if (isFirst) printLine(otherwise)
    },
    show(lines) {
      shown = lines.map(printableLine)
      draw()
    },
    end() {
      drawn = 0
    },
  }
}
