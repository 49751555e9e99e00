// The difference between two texts as git and diff show it: hunks of lines with three lines around them. Pure.

type Mark = ' ' | '-' | '+'
interface Line {
  readonly mark: Mark
  readonly text: string
}

const CONTEXT = 3
/** Of the table of the longest common lines; beyond it the middle is shown as replaced, which is true and not the shortest. */
const MAX_CELLS = 4_000_000

/** No lines for equal texts. */
export function unifiedLines(before: string, after: string): readonly string[] {
  if (before === after) return []
  const lines = compared(linesOf(before), linesOf(after))
  return hunksOf(lines).flatMap(({ from, to }) => {
    const hunk = lines.slice(from, to)
    return [
      `@@ -${rangeOf(lines, '+', from, hunk)} +${rangeOf(lines, '-', from, hunk)} @@`,
      ...hunk.map((l) => `${l.mark}${l.text}`),
    ]
  })
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** `other`: the mark of lines that this side does not have. */
function rangeOf(all: readonly Line[], other: Mark, from: number, hunk: readonly Line[]): string {
  const start = all.slice(0, from).filter((l) => l.mark !== other).length
  const count = hunk.filter((l) => l.mark !== other).length
  return `${count === 0 ? start : start + 1},${count}`
}

function hunksOf(lines: readonly Line[]): readonly { readonly from: number; readonly to: number }[] {
  const hunks: { from: number; to: number }[] = []
  for (const [n, { mark }] of lines.entries()) {
    if (mark === ' ') continue
    const [from, to] = [Math.max(0, n - CONTEXT), Math.min(lines.length, n + CONTEXT + 1)]
    const last = hunks.at(-1)
    if (last !== undefined && from <= last.to) last.to = to
    else hunks.push({ from, to })
  }
  return hunks
}

function compared(a: readonly string[], b: readonly string[]): readonly Line[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (lines: readonly string[]) => lines.map((text): Line => ({ mark: ' ', text }))
  return [
    ...same(a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ]
}

function middle(a: readonly string[], b: readonly string[]): readonly Line[] {
  const removed = (text: string): Line => ({ mark: '-', text })
  const added = (text: string): Line => ({ mark: '+', text })
  if (a.length * b.length > MAX_CELLS || a.length === 0 || b.length === 0) return [...a.map(removed), ...b.map(added)]
  // common[i][j]: the longest common part of a from i and b from j.
  const width = b.length + 1
  const common = new Uint16Array((a.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const out: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]]
    if (x !== undefined && x === y) {
      out.push({ mark: ' ', text: x })
      i++
      j++
    } else if (x !== undefined && (y === undefined || at(i + 1, j) >= at(i, j + 1))) {
      out.push(removed(x))
      i++
    } else {
      out.push(added(y ?? ''))
      j++
    }
  }
  return out
}
