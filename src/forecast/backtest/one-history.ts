// Opens the one history that a command reads: of a folder through its reader, or of an exported file as it is.
import { resolve } from 'node:path'
import { createReadStream, statSync } from 'node:fs'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { shellWord } from '#lib/shell-word.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { exported } from '#history/lines/export.ts'
import { readLines } from '#history/lines/file.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { hasTexts, parsedLine } from '#history/lines/line.ts'
import { historyErrors } from '#history/history-errors.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { momentIn } from '#history/ask/when.ts'
import { backtestErrors } from './backtest-errors.ts'

export interface HistoryAsked {
  /** As typed: a folder or a file. */
  readonly history?: string | undefined
  readonly cluster?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** How much is read when `since` is left out. */
  readonly usual: string
}

/** The options of a command that asks the same history. */
export const askedAgain = ({ history, cluster }: Pick<HistoryAsked, 'history' | 'cluster'>): string =>
  `${history === undefined ? '' : ` --history ${shellWord(history)}`}${cluster === undefined ? '' : ` --cluster ${shellWord(cluster)}`}`

export interface OneHistory {
  readonly cluster: string
  /** The asked beginning, which may be before the history begins. What is observed at it was known before. */
  readonly asked: number
  /** Names are replaced. */
  readonly isRedacted: boolean
  readonly to: number
  readonly lines: Iterable<HistoryLine> | AsyncIterable<HistoryLine>
}

/** Hands out the readers of a folder or of the local fleet. */
export type WithReaders = (use: (readers: readonly HistoryReader[]) => Promise<void>) => Promise<void>

export async function withOneHistory(
  asked: HistoryAsked,
  withReaders: WithReaders,
  use: (past: OneHistory) => Promise<void>,
  io: Io,
): Promise<void> {
  const isFile =
    asked.history !== undefined &&
    statSync(resolve(io.cwd, asked.history), { throwIfNoEntry: false })?.isFile() === true
  if (isFile) return inFile(asked, use, io)
  await withReaders(async (readers) => {
    const reader = onlyOne(readers, asked.cluster)
    const span = reader.span() ?? { begins: 0, ends: Date.now() }
    const range = rangeBefore(span.ends, asked)
    const [from, to] = [Math.max(range.from, span.begins), Math.min(range.to, span.ends)]
    await use({
      cluster: reader.cluster,
      asked: range.from,
      isRedacted: false,
      to,
      lines: exported(reader, { from, to }),
    })
  })
}

/** Before an hour of work: what is no time at all. */
export function checkTimes({ since, until }: HistoryAsked): void {
  for (const text of [since, until]) if (text !== undefined) momentIn(text, 0)
}

/** Durations count back from the end of the history, because a sample in a repository is old. Without a beginning, the usual length before `until`. */
function rangeBefore(end: number, { since, until, usual }: HistoryAsked): Range {
  const to = until === undefined ? end + 1 : momentIn(until, end)
  const from = since === undefined ? Math.min(to, end) - parseDuration(usual) : momentIn(since, end)
  if (from < to) return { from, to }
  const [begins, ends] = [timestamp(from), timestamp(to)]
  throw new KubeNodeError(backtestErrors.KN17006_end({ from: begins, to: ends, end: timestamp(end) }))
}

/** A file is read as it is: nothing is unpacked to disk, and nothing of it is kept. */
async function inFile(asked: HistoryAsked, use: (past: OneHistory) => Promise<void>, io: Io): Promise<void> {
  const { history = '', cluster } = asked
  const file = resolve(io.cwd, history)
  const heads = await headsOf(file, history)
  const head = onlyOne(heads, cluster)
  const range = rangeBefore(head.to, asked)
  const to = Math.min(range.to, head.to)
  const lines = linesOf(file, history, head.cluster, { from: range.from, to })
  await use({ cluster: head.cluster, asked: range.from, isRedacted: head.isRedacted, to, lines })
}

type Head = Extract<HistoryLine, { readonly line: 'head' }>

async function headsOf(file: string, shown: string): Promise<readonly Head[]> {
  const heads: Head[] = []
  for await (const text of readLines(createReadStream(file), shown)) {
    if (heads.length > 0 && !text.startsWith('{"line":"head"')) continue
    const line = parsedLine(text)
    if (line?.line !== 'head')
      throw new KubeNodeError(historyErrors.KN17007({ file: shown, line: 1, why: 'the first line has no format' }))
    heads.push(line)
  }
  if (heads.length === 0) throw new KubeNodeError(historyErrors.KN17007({ file: shown, line: 1, why: 'it is empty' }))
  return heads
}

/** Rows before the range become the state in which it begins. */
async function* linesOf(
  file: string,
  shown: string,
  cluster: string,
  { from, to }: Range,
): AsyncGenerator<HistoryLine> {
  let [n, isWanted, isOld] = [0, false, false]
  for await (const text of readLines(createReadStream(file), shown)) {
    n++
    if (text === '') continue
    const line = parsedLine(text, isOld)
    if (line === undefined)
      throw new KubeNodeError(
        historyErrors.KN17007({ file: shown, line: n, why: 'it is not a line of an exported history' }),
      )
    if (line.line === 'head') [isWanted, isOld] = [line.cluster === cluster, hasTexts(line)]
    if (!isWanted) continue
    if (line.line === 'row') {
      if (line.observed >= to) continue
      yield line.observed < from ? { ...line, observed: from } : line
    } else if (line.line === 'gap') {
      if ((line.ends ?? to) > from && line.starts < to) yield { ...line, starts: Math.max(line.starts, from) }
    } else if (line.line !== 'deed' || (line.deed.observed >= from && line.deed.observed < to)) yield line
  }
}

function onlyOne<T extends { readonly cluster: string }>(all: readonly T[], wanted: string | undefined): T {
  const known = all.map((one) => one.cluster).join(', ')
  const found = wanted === undefined ? all : all.filter((one) => one.cluster === wanted)
  const [only] = found
  if (only === undefined) throw new KubeNodeError(backtestErrors.KN1344_none({ cluster: wanted ?? '', known }))
  if (found.length > 1) throw new KubeNodeError(backtestErrors.KN1344_many({ known }))
  return only
}
