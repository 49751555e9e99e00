// Reports on a folder's rules: their cases, problems, coverage gaps, and effect on a Node.
import { caseProblems, coverageOf, isCovered } from '#policy/rule-cases.ts'
import { counted } from '#lib/counted.ts'
import { shownJson, shownLine, shownLines } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { findCage } from '#sync/render/cage.ts'
import { caseResults, resultLine } from './case-results.ts'
import { type RuleFile, ruleFiles } from './rule-files.ts'
import { readViews, simulate as answersOf } from './simulate.ts'

export interface RulesAsked {
  readonly dir: string
  readonly output: 'text' | 'json'
  readonly weakCage: 'allow' | 'refuse'
  /** Note that the rules run in the weaker cage. */
  readonly weakCageNote: string
}

export interface SimulateAsked extends RulesAsked {
  readonly node: string
  readonly all?: boolean
}

const STANDING = {
  Silent: 'only rules about silence are evaluated, its last report may be stale',
  Leaving: 'no repair is needed',
} as const

async function load({ dir, weakCage, weakCageNote }: RulesAsked, io: Io): Promise<readonly RuleFile[]> {
  const files = ruleFiles(dir, io.cwd, async () => {
    const cage = await findCage(weakCage)
    if (cage.isWeak) io.err(weakCageNote)
    return cage
  })
  return withProgress(io, `reading the rules of ${dir}`, files)
}

interface Shown {
  readonly data: unknown
  readonly lines: readonly string[]
}

const print = (io: Io, { output }: RulesAsked, { data, lines }: Shown) =>
  io.out(output === 'json' ? shownJson(data) : shownLines(lines))

/** Exits with 1 if a case failed. */
export async function reportTest(options: RulesAsked, io: Io): Promise<void> {
  const results = caseResults(await load(options, io))
  const failed = results.filter((r) => !r.ok)
  print(io, options, { data: results, lines: failed.map(resultLine) })
  io.err(`${results.length - failed.length} of ${results.length} cases passed\n`)
  if (failed.length > 0) throw new Exit(EXIT_DIFFERENT)
}

/** Exits with 2 if there is a problem. */
export async function reportLint(options: RulesAsked, io: Io): Promise<void> {
  const files = await load(options, io)
  const all = files.flatMap(({ path, casesPath, problems, caseProblems, notes }) => [
    ...problems.map((message) => ({ path, message, isNote: false })),
    ...caseProblems.map((message) => ({ path: casesPath, message, isNote: false })),
    ...notes.map((message) => ({ path, message, isNote: true })),
  ])
  // A file that does not load is also the problem of each rule that imports it.
  const findings = [...new Map(all.map((f) => [`${f.path}\n${f.message}`, f])).values()]
  print(io, options, {
    data: findings,
    lines: findings.map((f) => `${f.path}: ${f.isNote ? 'note: ' : ''}${f.message}`),
  })
  const count = findings.filter((f) => !f.isNote).length
  io.err(`${counted(files.length, 'rule')}, ${counted(count, 'problem')}\n`)
  if (count > 0) throw new Exit(EXIT_ERROR)
}

/** Exits with 1 if part of a rule has no case. */
export async function reportCoverage(options: RulesAsked, io: Io): Promise<void> {
  const rows = (await load(options, io)).map(({ name, cases, compiled, problems: own, caseProblems: malformed }) => {
    const problems = [...own, ...malformed]
    if (compiled === undefined || (cases.length === 0 && problems.length > 0))
      return { rule: name, leaves: 0, covered: 0, problems }
    const leaves = coverageOf(compiled, cases)
    const covered = leaves.filter(isCovered).length
    return { rule: name, leaves: leaves.length, covered, problems: caseProblems(compiled, cases) }
  })
  print(io, options, {
    data: rows,
    lines: rows.flatMap((r) => [`${r.rule}: ${r.covered} of ${r.leaves} leaves`, ...r.problems.map((p) => `  ${p}`)]),
  })
  if (rows.some((r) => r.problems.length > 0)) throw new Exit(EXIT_DIFFERENT)
}

export async function reportAnswers(options: SimulateAsked, io: Io): Promise<void> {
  const views = readViews(options.node, io.cwd)
  const rules = await load(options, io)
  const answers = answersOf(views, rules, systemClock.now())
  const shown = options.all === true ? answers : answers.filter((s) => s.verdict === 'true')
  print(io, options, {
    data: shown,
    lines: shown.flatMap((s) => [
      `${s.node}: rule ${s.rule} is ${s.verdict}${s.since === undefined ? '' : ` since ${s.since}`}: ${s.would}`,
      ...s.explanation.split('\n').map((l) => `  ${l}`),
    ]),
  })
  const isTrue = answers.filter((s) => s.verdict === 'true').length
  const unknown = answers.filter((s) => s.verdict === 'unknown')
  const unread = rules.filter((r) => r.compiled === undefined).length
  for (const { name, standing } of views)
    if (standing.kind !== 'Readable') io.err(shownLine(`node ${name}: ${standing.why}; ${STANDING[standing.kind]}`))
  // A rule that does nothing does not prove the node healthy: print one line for each, unless all inputs are shown anyway.
  if (options.all !== true)
    for (const { node, rule, missing } of unknown)
      if (missing !== undefined) io.err(shownLine(`${node}: rule ${rule} is unknown, no action: ${missing}`))
  if (unread > 0) io.err(`${counted(unread, 'rule')} could not be asked: kubenode rules lint says why\n`)
  io.err(
    `${isTrue} of ${counted(answers.length, 'answer')} true, ${unknown.length} unknown${isTrue > 0 || options.all === true ? '' : '; use --all to show the inputs of each rule'}\n`,
  )
}
