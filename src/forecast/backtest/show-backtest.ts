// Compares the rules of two sides over a recorded history, prints the comparison, and exits with the code that its gates ask for.
import { KubeNodeError } from '#lib/errors.ts'
import { shownJson } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { Backtest } from './backtest.ts'
import { backtestErrors } from './backtest-errors.ts'
import { DeclaredSides, type FleetAsked } from './declared.ts'
import { problemIn } from './rules-file.ts'
import { findingsOf, percent } from './findings.ts'
import { type HistoryAsked, type OneHistory, type WithReaders, checkTimes, withOneHistory } from './one-history.ts'
import { junitOf, markdownOf, terminalText } from './forms.ts'
import { SHIPPED_GATES, figuresOf, gateOf, hitGates } from './gate.ts'
import { type BacktestResult, TRUSTED_SHARE, isTrusted } from './result.ts'

export interface BacktestAsked extends FleetAsked, HistoryAsked {
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

export async function showBacktest(asked: BacktestAsked, withReaders: WithReaders, io: Io): Promise<void> {
  // Before an hour of work: what cannot be read or judged.
  const gates = [...(asked.gates ? SHIPPED_GATES : []), ...asked.failOn].map(gateOf)
  checkTimes(asked)
  const compared = async (past: OneHistory): Promise<void> => {
    const { cluster } = past
    const sides = new DeclaredSides(asked, io)
    const base = await sides.read({ commit: asked.base, file: asked.baseRules }, cluster)
    const isDirty = asked.dirty === true
    const change = await sides.read(
      asked.rules === undefined ? { commit: asked.commit, isDirty } : { file: asked.rules },
      cluster,
    )
    // Sync refuses such a commit; the base may be one that the change corrects.
    const why = problemIn(change.declared)
    if (why !== undefined) throw new KubeNodeError(backtestErrors.KN1346_commit({ name: change.name, why }))
    const backtest = new Backtest({
      cluster,
      base: base.declared,
      change: change.declared,
      seeds: asked.seeds,
      asked: past.asked,
    })
    const result = await withProgress(io, `replaying the history of ${cluster}`, replayed(backtest, past))
    show(result, { base: base.name, change: change.name, isRedacted: past.isRedacted }, gates, asked, io)
  }
  await withOneHistory(asked, withReaders, compared, io)
}

async function replayed(backtest: Backtest, { to, lines }: OneHistory): Promise<BacktestResult> {
  for await (const line of lines) if (line.line !== 'head') await backtest.take(line)
  return backtest.end(to)
}

function show(
  result: BacktestResult,
  { isRedacted, ...names }: { readonly base: string; readonly change: string; readonly isRedacted: boolean },
  gates: readonly ReturnType<typeof gateOf>[],
  asked: BacktestAsked,
  io: Io,
): void {
  const hits = hitGates(gates, result)
  const texts = gates.map((g) => g.text)
  const found = findingsOf(result, hits, { ...names, history: asked.history, gates: texts, isRedacted })
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
  if (result.isEmpty) throw new KubeNodeError(backtestErrors.KN1343_empty({ cluster: result.cluster }))
  if (!isTrusted(result))
    throw new KubeNodeError(
      backtestErrors.KN1343({ share: percent(result.calibration.share), needed: percent(TRUSTED_SHARE) }),
    )
  if (hits.length === 0) return
  showProblem(io, `--fail-on: ${hits.map((h) => h.gate).join('; ')}\n`)
  throw new Exit(EXIT_DIFFERENT)
}
