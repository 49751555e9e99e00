// `kubenode rules test | lint | coverage | simulate | enforce`: checks the rules of a folder before any cluster has them, and lets one repair that only looked.
import { Option } from 'commander'
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { counted } from '#lib/counted.ts'
import { shownJson, shownLine, shownLines } from '#lib/printable.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { RuleFile } from '#forecast/rules/rule-files.ts'
import type { EnforceOptions } from '../rules/enforce.ts'
import { nameOfKind } from '../inspect/name-word.ts'
import { outputOption } from '../output.ts'
import { withCopy } from '../rollout/propose.ts'
import { withServer } from './inspect.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { weakCageNote, weakCageOption } from '../weak-cage.ts'

interface Options {
  readonly dir: string
  readonly output: 'text' | 'json'
  readonly weakCage: 'allow' | 'refuse'
}

interface SimulateOptions extends Options {
  readonly node: string
  readonly all?: boolean
}

const STANDING = {
  Silent: 'only rules about silence are evaluated, its last report may be stale',
  Leaving: 'no repair is needed',
} as const

export function register(program: Command, io: Io): void {
  const rules = program.command('rules').description('test remedy rules before a cluster has them, and enforce them')
  const withFolder = (command: Command): Command =>
    command
      .addOption(new Option('-d, --dir <folder>', 'folder with rules and their cases').default('rules'))
      .addOption(outputOption(['text', 'json']).default('text'))
      .addOption(weakCageOption())

  withFolder(rules.command('test'))
    .description('run every case of every rule; exit 1 when one fails')
    .action((options: Options) => test(options, io))

  withFolder(rules.command('lint'))
    .description('report errors in rules, and rules that do harm or nothing; exit 2 when there are any')
    .action((options: Options) => lint(options, io))

  withFolder(rules.command('coverage'))
    .description('list the parts of rules that no case covers; exit 1 when there are any')
    .action((options: Options) => coverage(options, io))

  withCopy(
    withServer(
      rules
        .command('enforce')
        .description('show what a rule in mode DryRun would have done, and print the edit that lets it repair')
        .argument('<rule>', 'name of the rule', nameOfKind('remedier'))
        .option('--stage <name>', 'in the clusters of this stage; where the fleet declares it once when left out'),
    ),
  ).action(async (name: string, options: EnforceOptions) => {
    const { enforce } = await import('../rules/enforce.ts')
    await enforce(name, options, io)
  })

  withFolder(rules.command('simulate'))
    .description('show what the rules would do about a Node in a file')
    .requiredOption('--node <file>', 'Nodes, optionally with their Machines, as YAML or JSON')
    .option('--all', 'include rules that are not true, each with the tree that explains why')
    .action((options: SimulateOptions) => simulate(options, io))
}

async function load({ dir, weakCage }: Options, io: Io): Promise<readonly RuleFile[]> {
  const [{ ruleFiles }, { findCage }] = await Promise.all([
    import('#forecast/rules/rule-files.ts'),
    import('#sync/render/cage.ts'),
  ])
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

const print = (io: Io, { output }: Options, { data, lines }: Shown) =>
  io.out(output === 'json' ? shownJson(data) : shownLines(lines))

async function test(options: Options, io: Io): Promise<void> {
  const { caseResults, resultLine } = await import('#forecast/rules/case-results.ts')
  const results = caseResults(await load(options, io))
  const failed = results.filter((r) => !r.ok)
  print(io, options, { data: results, lines: failed.map(resultLine) })
  io.err(`${results.length - failed.length} of ${results.length} cases passed\n`)
  if (failed.length > 0) throw new Exit(EXIT_DIFFERENT)
}

async function lint(options: Options, io: Io): Promise<void> {
  const files = await load(options, io)
  const findings = files.flatMap(({ path, casesPath, problems, caseProblems, notes }) => [
    ...problems.map((message) => ({ path, message, isNote: false })),
    ...caseProblems.map((message) => ({ path: casesPath, message, isNote: false })),
    ...notes.map((message) => ({ path, message, isNote: true })),
  ])
  print(io, options, {
    data: findings,
    lines: findings.map((f) => `${f.path}: ${f.isNote ? 'note: ' : ''}${f.message}`),
  })
  const count = findings.filter((f) => !f.isNote).length
  io.err(`${counted(files.length, 'rule')}, ${counted(count, 'problem')}\n`)
  if (count > 0) throw new Exit(EXIT_ERROR)
}

async function coverage(options: Options, io: Io): Promise<void> {
  const { caseProblems, coverageOf, isCovered } = await import('#policy/rule-cases.ts')
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

async function simulate(options: SimulateOptions, io: Io): Promise<void> {
  const { readViews, simulate: answersOf } = await import('#forecast/rules/simulate.ts')
  const views = readViews(options.node, io.cwd)
  const rules = await load(options, io)
  const said = answersOf(views, rules, systemClock.now())
  const shown = options.all === true ? said : said.filter((s) => s.verdict === 'true')
  print(io, options, {
    data: shown,
    lines: shown.flatMap((s) => [
      `${s.node}: rule ${s.rule} is ${s.verdict}${s.since === undefined ? '' : ` since ${s.since}`}: ${s.would}`,
      ...s.explanation.split('\n').map((l) => `  ${l}`),
    ]),
  })
  const isTrue = said.filter((s) => s.verdict === 'true').length
  const unknown = said.filter((s) => s.verdict === 'unknown')
  const unread = rules.filter((r) => r.compiled === undefined).length
  for (const { name, standing } of views)
    if (standing.kind !== 'Readable') io.err(shownLine(`node ${name}: ${standing.why}; ${STANDING[standing.kind]}`))
  // Quiet rules are no proof that all is well: one line for each, unless all inputs are shown anyway.
  if (options.all !== true)
    for (const { node, rule, missing } of unknown)
      if (missing !== undefined) io.err(shownLine(`${node}: rule ${rule} is unknown, no action: ${missing}`))
  if (unread > 0) io.err(`${counted(unread, 'rule')} could not be asked: kubenode rules lint says why\n`)
  io.err(
    `${isTrue} of ${counted(said.length, 'answer')} true, ${unknown.length} unknown${isTrue > 0 || options.all === true ? '' : '; use --all to show the inputs of each rule'}\n`,
  )
}
