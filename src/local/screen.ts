// One calm display: on a terminal a block of lines that is redrawn in place, elsewhere a line for each change and nothing else.

export interface Screen {
  /** A step of starting, or something that happened. Stays on the screen. */
  say(line: string): void
  /** What the fleet looks like now. Replaces what was shown before. */
  show(lines: readonly string[]): void
  /** Leaves the last picture and stops redrawing. */
  end(): void
}

const UP = (n: number): string => (n === 0 ? '' : `\u001b[${n}A`)
const CLEAR_BELOW = '\u001b[J'
const DEFAULT_COLUMNS = 100

export function createScreen(
  write: (text: string) => void,
  { isTerminal, columns = DEFAULT_COLUMNS }: { isTerminal: boolean; columns?: number },
): Screen {
  let drawn = 0
  let last = ''
  // A line that wraps would break the count of lines to go back.
  const fit = (line: string): string => (line.length < columns ? line : `${line.slice(0, columns - 2)}…`)
  const erase = (): string => (isTerminal ? `${UP(drawn)}\r${CLEAR_BELOW}` : '')
  return {
    say(line) {
      write(`${erase()}${line}\n`)
      drawn = 0
      last = ''
    },
    show(lines) {
      const text = lines.map((l) => (isTerminal ? fit(l) : l)).join('\n')
      if (text === last) return
      if (isTerminal) {
        write(`${erase()}${text}\n`)
        drawn = lines.length
      } else {
        const before = new Set(last.split('\n'))
        for (const line of text.split('\n')) if (!before.has(line)) write(`${line}\n`)
      }
      last = text
    },
    end() {
      drawn = 0
    },
  }
}
