// Compares the rules of two sides over a recorded history, prints the comparison, and exits with the code that its gates ask for.
import { resolve } from 'node:path'
import { statSync } from 'node:fs'
import { KubeNodeError } from '#lib/errors.ts'
import { shownJson } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { exported } from '#history/lines/export.ts'
import { readLines } from '#history/lines/file.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { parsedLine } from '#history/lines/line.ts'
import { historyErrors } from '#history/history-errors.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { rangeIn } from '#history/ask/when.ts'
import { Backtest } from './backtest.ts'
import { backtestErrors } from './backtest-errors.ts'
import { DeclaredSides, type FleetAsked } from './declared.ts'
import { findingsOf, percent } from './findings.ts'
import { junitOf, markdownOf, terminalText } from './forms.ts'
import { SHIPPED_GATES, figuresOf, gateOf, hitGates } from './gate.ts'
import { type BacktestResult, TRUSTED_SHARE, isTrusted } from './result.ts'

export interface BacktestAsked extends FleetAsked {
  /** As typed: a folder or a file. */
  readonly history?: string | undefined
  readonly cluster?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly base?: string | undefined
  readonly baseRules?: string | undefined
  readonly commit: string
  readonly dirty?: true | undefined
  readonly rules?: string | undefined
  readonly seeds: number
  /** Conditions of the user. */
  readonly failOn: readonly string[]
  /** Also those that are shipped. */
  readonly gates: boolean
  readonly output: 'text' | 'json' | 'markdown' | 'junit'
}

/** Hands out the readers of a folder or of the local fleet. */
export type WithReaders = (use: (readers: readonly HistoryReader[]) => Promise<void>) => Promise<void>

export async function showBacktest(asked: BacktestAsked, withReaders: WithReaders, io: Io): Promise<void> {
  // Before an hour of work: what cannot be read or judged.
  const gates = [...(asked.gates ? SHIPPED_GATES : []), ...asked.failOn].map(gateOf)
  rangeIn(asked, Date.now())
  const isFile =
    asked.history !== undefined &&
    statSync(resolve(io.cwd, asked.history), { throwIfNoEntry: false })?.isFile() === true
  const compared = async (lines: Lines, cluster: string): Promise<void> => {
    const sides = new DeclaredSides(asked, io)
    const base = await sides.read({ commit: asked.base, file: asked.baseRules }, cluster)
    const isDirty = asked.dirty === true
    const change = await sides.read(
      asked.rules === undefined ? { commit: asked.commit, isDirty } : { file: asked.rules },
      cluster,
    )
    const backtest = new Backtest({ cluster, base: base.declared, change: change.declared, seeds: asked.seeds })
    const result = await withProgress(io, `replaying the history of ${cluster}`, replayed(backtest, lines))
    show(result, { base: base.name, change: change.name }, gates, asked, io)
  }
  if (isFile) return inFile(asked, compared, io)
  await withReaders(async (readers) => {
    const reader = onlyOne(readers, asked.cluster)
    const span = reader.span() ?? { begins: 0, ends: Date.now() }
    const range = rangeIn(asked, span.ends)
    const [from, to] = [Math.max(range.from, span.begins), Math.min(range.to, span.ends)]
    await compared({ to, lines: exported(reader, { from, to }) }, reader.cluster)
  })
}

interface Lines {
  readonly to: number
  readonly lines: Iterable<HistoryLine> | AsyncIterable<HistoryLine>
}

async function replayed(backtest: Backtest, { to, lines }: Lines): Promise<BacktestResult> {
  for await (const line of lines) if (line.line !== 'head') await backtest.take(line)
  return backtest.end(to)
}

/** A file is read as it is: nothing is unpacked to disk, and nothing of it is kept. */
async function inFile(
  asked: BacktestAsked,
  compared: (lines: Lines, cluster: string) => Promise<void>,
  io: Io,
): Promise<void> {
  const { history = '', cluster } = asked
  const file = resolve(io.cwd, history)
  const heads = await headsOf(file, history)
  const head = onlyOne(heads, cluster)
  // A sample in a repository is old: times are before its end.
  const range = rangeIn(asked, head.to)
  const to = Math.min(range.to, head.to)
  await compared({ to, lines: linesOf(file, history, head.cluster, { from: range.from, to }) }, head.cluster)
}

type Head = Extract<HistoryLine, { readonly line: 'head' }>

async function headsOf(file: string, shown: string): Promise<readonly Head[]> {
  const heads: Head[] = []
  for await (const text of readLines(file)) {
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
  let [n, isWanted] = [0, false]
  for await (const text of readLines(file)) {
    n++
    if (text === '') continue
    const line = parsedLine(text)
    if (line === undefined)
      throw new KubeNodeError(
        historyErrors.KN17007({ file: shown, line: n, why: 'it is not a line of an exported history' }),
      )
    if (line.line === 'head') isWanted = line.cluster === cluster
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

function show(
  result: BacktestResult,
  names: { readonly base: string; readonly change: string },
  gates: readonly ReturnType<typeof gateOf>[],
  asked: BacktestAsked,
  io: Io,
): void {
  const hits = hitGates(gates, result)
  const texts = gates.map((g) => g.text)
  const found = findingsOf(result, hits, { ...names, history: asked.history, gates: texts })
  switch (asked.output) {
    case 'json':
      io.out(shownJson({ ...names, ...result, isTrusted: found.isTrusted, figures: figuresOf(result), gates: hits }))
      break
    case 'markdown':
      io.out(markdownOf(found, 'kubenode-backtest'))
      break
    case 'junit':
      io.out(junitOf(found, texts))
      break
    case 'text':
      io.out(terminalText(found, io.width?.()))
  }
  if (gates.length === 0) return
  if (!isTrusted(result))
    throw new KubeNodeError(
      backtestErrors.KN1343({ share: percent(result.calibration.share), needed: percent(TRUSTED_SHARE) }),
    )
  if (hits.length === 0) return
  showProblem(io, `--fail-on: ${hits.map((h) => h.gate).join('; ')}\n`)
  throw new Exit(EXIT_DIFFERENT)
}
