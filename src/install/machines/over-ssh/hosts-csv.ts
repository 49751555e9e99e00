// Pure: reads the rows of a CSV file about hosts. Every problem has its line, and all are found at once.
import { didYouMean } from '#lib/did-you-mean.ts'

const COLUMNS = [
  'name',
  'host',
  'port',
  'user',
  'pool',
  'zone',
  'rack',
  'class',
  'hostKey',
  'hostCA',
  'secret',
  'jumpHost',
  'jumpPort',
  'jumpUser',
  'jumpHostKey',
  'jumpHostCA',
] as const
export type Column = (typeof COLUMNS)[number]

export interface HostRow {
  readonly line: number
  /** Without empty cells. */
  readonly cells: Readonly<Partial<Record<Column, string>>>
}

export interface RowProblem {
  readonly line: number
  /** What is wrong, and what to do. */
  readonly text: string
}

/** Kubernetes supports half as many nodes in a cluster. */
const MAX_HOSTS = 10_000

const folded = (name: string): string => name.toLowerCase().replaceAll(/[-_ ]/g, '')
const BY_FOLDED: ReadonlyMap<string, Column> = new Map(COLUMNS.map((name) => [folded(name), name]))

export function hostRows(text: string): {
  readonly rows: readonly HostRow[]
  readonly problems: readonly RowProblem[]
} {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((content, i) => ({ line: i + 1, content }))
    .filter(({ content }) => content.trim() !== '' && !content.startsWith('#'))
  const [head, ...rest] = lines
  if (head === undefined)
    return {
      rows: [],
      problems: [
        {
          line: 1,
          text: `the file is empty; its first line has the names of columns, such as ${COLUMNS.slice(0, 4).join(',')}`,
        },
      ],
    }
  const { columns, problems } = columnsIn(head.line, cellsOf(head.content) ?? [])
  if (problems.length > 0) return { rows: [], problems }
  if (rest.length === 0)
    return { rows: [], problems: [{ line: head.line, text: 'no host follows; add a line for each' }] }
  if (rest.length > MAX_HOSTS)
    return {
      rows: [],
      problems: [{ line: head.line, text: `${rest.length} hosts follow; divide the file, ${MAX_HOSTS} is the most` }],
    }
  const found: RowProblem[] = []
  const rows: HostRow[] = []
  for (const { line, content } of rest) {
    const cells = cellsOf(content)
    if (cells === undefined) found.push({ line, text: 'a quote is not closed; close it on the same line' })
    else if (cells.length > columns.length)
      found.push({
        line,
        text: `${cells.length} cells, and ${columns.length} columns; put a value with commas in quotes`,
      })
    else rows.push({ line, cells: Object.fromEntries(cells.flatMap((c, i) => (c === '' ? [] : [[columns[i], c]]))) })
  }
  return { rows, problems: found }
}

function columnsIn(line: number, names: readonly string[]) {
  const problems: RowProblem[] = []
  const columns: Column[] = []
  for (const name of names) {
    const column = BY_FOLDED.get(folded(name))
    const near = didYouMean(name, COLUMNS)
    if (column === undefined)
      problems.push({
        line,
        text: `no column is called ${JSON.stringify(name)}; ${near === undefined ? `use ${COLUMNS.join(', ')}` : `did you mean ${near}?`}`,
      })
    else if (columns.includes(column)) problems.push({ line, text: `column ${column} appears twice; remove one` })
    else columns.push(column)
  }
  // A file without the line of names has a host there.
  if (columns.length === 0) return { columns, problems: problems.slice(0, 1) }
  if (problems.length === 0 && !columns.includes('name'))
    problems.push({ line, text: 'there is no column name; the first line has the names of columns' })
  return { columns, problems }
}

/** Undefined: a quote without its end. Two quotes in a quoted cell are one. */
function cellsOf(line: string): readonly string[] | undefined {
  const cells: string[] = []
  for (let at = 0; at <= line.length;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:,|$)/.exec(line.slice(at))
    if (quoted === null && /^\s*"/.test(line.slice(at))) return undefined
    const length = quoted?.[0].length ?? `${line.slice(at).split(',', 1)[0] ?? ''},`.length
    cells.push(
      quoted === null ? line.slice(at, at + length - 1).trim() : (quoted[1] ?? '').replaceAll('""', '"').trim(),
    )
    at += length
    // A quoted cell at the end of the line has no comma.
    if (quoted !== null && at >= line.length && !quoted[0].endsWith(',')) break
  }
  return cells
}
