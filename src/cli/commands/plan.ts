// `kubenode plan`: what a commit would change, cluster by cluster, without contacting any cluster: renders two commits in the cage and compares them.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import type { Inventory } from '#forecast/inventory.ts'
import type { Loosened } from '#forecast/loosened/loosened.ts'
import type { ClusterDifference } from '#sync/difference.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import { shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { outputOption } from '../output.ts'
import { LEAST_CHARS } from '#forecast/plan/least-chars.ts'
import { apartWarning, baseOf, commitCalled, noRange, rangeOf } from '#forecast/plan/range.ts'
import type { Outlook } from '#forecast/plan/outlook.ts'
import { getErrors } from '../get/get-errors.ts'
import { hasColors } from '#lib/terminal/paint.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { VERSION } from '#lib/program-version.ts'
import { weakCageOption, weakCageNote } from '../weak-cage.ts'
import { syncErrors } from '#sync/sync-errors.ts'

interface PlanOptions {
  readonly commit: string
  readonly base?: string
  readonly isFromFork?: boolean
  readonly dirty?: true
  readonly cluster?: string
  readonly repo?: string
  readonly path: string
  readonly output: 'text' | 'markdown' | 'json'
  readonly detailedExitcode?: true
  readonly inventory?: readonly string[]
  readonly failOn?: readonly FailOn[]
  readonly maxChars: number
  readonly marker: string
  readonly weakCage: 'allow' | 'refuse'
}

/** What a pull request may be stopped for. */
const FAIL_ON = ['risk=medium', 'risk=high', 'unknown', 'uncovered-class', 'deletions', 'stuck', 'loosened'] as const
type FailOn = (typeof FAIL_ON)[number]

/** GitHub takes 65,536 characters; some are left for the job that posts it. */
const MAX_CHARS = 60_000

export function register(program: Command, io: Io): void {
  program
    .command('plan')
    .description('show what a commit changes in each cluster, without touching any')
    .argument(
      '[range]',
      'BASE..HEAD, in place of --base and --commit; BASE...HEAD: what HEAD changed since it left BASE',
    )
    .option('--commit <rev>', 'the commit to plan', 'HEAD')
    .option(
      '--base <rev>',
      'the commit or branch to compare with, such as main or HEAD~2; its first parent when left out, with --dirty the commit itself',
    )
    .option('--dirty', 'plan the edits of the work tree as if they were committed')
    .option('--cluster <name>', 'only this cluster')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option(
      '--inventory <file>',
      'predict machines, steps and times from this file of kubenode inventory export; once for each cluster',
      (file: string, before: readonly string[] | undefined) => [...(before ?? []), file],
    )
    .addOption(outputOption(['text', 'markdown', 'json']).default('text'))
    .addOption(
      new Option('--max-chars <number>', 'longest text of -o markdown; it leaves out more until it fits')
        .argParser((text) => wholeFrom(text, LEAST_CHARS))
        .default(MAX_CHARS),
    )
    .option('--marker <text>', 'first line of -o markdown, by which a comment is found again', 'kubenode-plan')
    .addOption(
      new Option('--fail-on <what>', `exit with 1 for any of these, joined by commas: ${FAIL_ON.join(', ')}`).argParser(
        failOnOf,
      ),
    )
    .option('--detailed-exitcode', 'exit with 1 when something changes (2 is an error, as always)')
    .addOption(weakCageOption())
    .action((range: string | undefined, options: PlanOptions) => plan(withRange(options, range), io))
}

function wholeFrom(text: string, least: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least) throw new InvalidArgumentError(`a whole number from ${least} on`)
  return value
}

function failOnOf(text: string): readonly FailOn[] {
  return text.split(',').map((word) => {
    const found = FAIL_ON.find((f) => f === word.trim())
    if (found === undefined) throw new InvalidArgumentError(`one of ${FAIL_ON.join(', ')}`)
    return found
  })
}

function withRange(options: PlanOptions, range: string | undefined): PlanOptions {
  if (range === undefined) return options
  const { base, head, isFromFork } = rangeOf(range)
  if (options.base !== undefined || options.commit !== 'HEAD') throw noRange(range)
  return { ...options, base, commit: head, isFromFork }
}

async function plan(options: PlanOptions, io: Io): Promise<void> {
  if (options.dirty === true && options.commit !== 'HEAD')
    throw new KubeNodeError(getErrors.KN1602({ one: '--dirty', other: '--commit' }))
  const [
    { resolve },
    { openLocalRepository },
    { findCage },
    { processRenderer },
    { renderCommit },
    { hasDifference },
    { noteLooseFiles },
    { withWorkTree },
    { problemText },
    { versionNote },
    { signatureNote, signatureOf },
    { loosenedText, oneWayText, outlookText, prunesText, returnsText, textOf },
    { summaryText },
    { makePlan, rendersFrom },
    { hasDeletions },
    { titleIn, titledIn },
  ] = await Promise.all([
    import('node:path'),
    import('#sync/git/local-repository.ts'),
    import('#sync/render/cage.ts'),
    import('#sync/render/renderer.ts'),
    import('#sync/render/render.ts'),
    import('#sync/difference.ts'),
    import('#forecast/plan/loose-files.ts'),
    import('#sync/git/work-tree.ts'),
    import('#sync/render/problems.ts'),
    import('#sync/render/written-for.ts'),
    import('#forecast/plan/plan-signature.ts'),
    import('#forecast/plan/text.ts'),
    import('#forecast/plan/spans.ts'),
    import('#forecast/plan/make-plan.ts'),
    import('#forecast/plan/losses.ts'),
    import('#sync/git/titled-in.ts'),
  ])
  const inventories = await inventoriesOf(options, io)
  const repository = openLocalRepository(resolve(io.cwd, options.repo ?? '.'), { above: true })
  const commit = await commitCalled(repository, options.commit)
  const { parents } = await repository.commit(commit)
  const [parent] = parents
  const isDirty = options.dirty === true
  const base =
    options.base === undefined
      ? isDirty
        ? commit
        : parent
      : await baseOf(repository, { base: options.base, isFromFork: options.isFromFork === true }, commit)
  const cage = await findCage(options.weakCage)
  if (cage.isWeak) io.err(weakCageNote)
  if (options.commit === 'HEAD' && !isDirty) await noteLooseFiles(repository, { commit, path: options.path }, io)
  const render = async (id: string, from: GitRepository) =>
    withProgress(
      io,
      `rendering commit ${await titledIn(repository, id)}`,
      renderCommit(id, { repository: from, renderer: processRenderer(cage), path: options.path }),
    )
  const made = await makePlan({
    commit,
    base,
    cluster: options.cluster,
    inventories,
    render: rendersFrom(repository, isDirty ? withWorkTree(repository) : repository, render),
    onNothingBefore: (error) => nothingBefore(error, options, io),
    around: (what, work) => withProgress(io, what, work),
  })
  const { after, shown, digest, outlook, loosened, oneWay, easyReturns, prunes } = made
  const problems = after.problems.filter((p) => isShown(p, options.cluster))
  const apart =
    base === undefined || base === parent || base === commit ? undefined : await apartWarning(repository, base, commit)
  const signature = isDirty ? undefined : signatureOf(repository, commit)
  if (options.output === 'json')
    io.out(
      shownJson({
        commit,
        ...(isDirty && { dirty: true }),
        base: base ?? null,
        ...(signature !== undefined && { signature }),
        ...(apart !== undefined && { warning: apart }),
        cage: after.cage,
        clusters: shown,
        problems,
        digest,
        summary: summaryText(shown, outlook, loosened),
        ...(loosened.length > 0 && { loosened }),
        oneWay,
        ...(easyReturns.length > 0 && { easyReturns }),
        ...(prunes !== undefined && { prunes }),
        ...(outlook !== undefined && { predicted: outlookJson(outlook) }),
      }),
    )
  else if (options.output === 'markdown') {
    const { markdownOf } = await import('#forecast/plan/markdown.ts')
    const [certain, doubtful] = [true, false].map((is) =>
      problems.filter((p) => p.isCertain === is).map((p) => problemText(p)),
    )
    const { maxChars, marker, base: against } = options
    io.out(
      markdownOf(
        {
          commit,
          base,
          titles: {
            commit: await titleIn(repository, commit),
            ...(base !== undefined && { base: await titleIn(repository, base) }),
          },
          ...(against !== undefined && { against }),
          isDirty,
          ...(options.cluster !== undefined && { only: options.cluster }),
          clusters: shown,
          problems: certain ?? [],
          warnings: [...(apart === undefined ? [] : [apart]), ...(doubtful ?? [])],
          outlook,
          digest,
          version: VERSION,
          loosened,
          oneWay,
          easyReturns,
          ...(prunes !== undefined && { prunes }),
        },
        { maxChars, marker },
      ),
    )
  } else
    io.out(
      textOf(
        `${isDirty ? 'the work tree on ' : ''}${await titledIn(repository, commit)}${options.cluster === undefined ? '' : ` in ${options.cluster} only`}`,
        base === undefined || base === commit ? undefined : await titledIn(repository, base),
        shown,
        {
          isColored: hasColors(io),
          isCut: io.isTerminal,
        },
      ) +
        (prunes === undefined ? '' : prunesText(prunes)) +
        loosenedText(loosened) +
        oneWayText(oneWay) +
        returnsText(easyReturns) +
        (outlook === undefined ? '' : outlookText(outlook, oneWay)),
    )
  if (after.writtenFor !== undefined && after.writtenFor !== VERSION)
    io.err(shownLine(`note: ${versionNote(after.writtenFor, VERSION)}`))
  if (apart !== undefined) io.err(shownLine(`warning: ${apart}`))
  if (signature !== undefined) {
    const earlier = base === undefined || !made.isBaseRead ? undefined : signatureOf(repository, base)
    const note = signatureNote(await titledIn(repository, commit), signature, earlier)
    if (note !== undefined) io.err(shownLine(note))
  }
  for (const p of problems) showProblem(io, shownLine(`${p.isCertain ? 'error' : 'warning'}: ${problemText(p)}`))
  if (after.moreProblems > 0) io.err(`and ${after.moreProblems} more; correct these first\n`)
  // Sync refuses the first kind, and applies invalid objects nowhere.
  if (problems.some((p) => p.isCertain) || shown.some((d) => d.problems.length > 0)) throw new Exit(EXIT_ERROR)
  const reasons = (options.failOn ?? []).filter((what) =>
    isFound(what, { all: shown, outlook, loosened, deletes: hasDeletions(shown, prunes) }),
  )
  if (reasons.length > 0) {
    showProblem(io, `--fail-on: ${reasons.join(', ')}\n`)
    throw new Exit(EXIT_DIFFERENT)
  }
  if (options.detailedExitcode === true && hasDifference(shown)) throw new Exit(EXIT_DIFFERENT)
}

interface Findings {
  readonly all: readonly ClusterDifference[]
  readonly outlook: Outlook | undefined
  readonly loosened: readonly Loosened[]
  readonly deletes: boolean
}

/** Without an inventory nothing is known of machines, and that is what `unknown` is about. */
function isFound(what: FailOn, { all, outlook, loosened, deletes }: Findings): boolean {
  const { risk } = outlook ?? {}
  const isChanged = all.some((d) => d.changes.length > 0)
  switch (what) {
    case 'risk=medium':
      return risk === 'Medium' || risk === 'High'
    case 'risk=high':
      return risk === 'High'
    case 'unknown':
      return isChanged && (outlook === undefined || outlook.unknown.length > 0)
    case 'uncovered-class':
      return (outlook?.uncovered.length ?? 0) > 0
    case 'deletions':
      return deletes
    case 'loosened':
      return loosened.length > 0
    case 'stuck':
      return outlook?.clusters.some((c) => c.prediction.stuck.length > 0) === true
    default:
      return assertNever(what)
  }
}

/** Maps say nothing in JSON. */
const outlookJson = (outlook: Outlook) => ({
  ...outlook,
  clusters: outlook.clusters.map(({ stage, prediction }) => ({
    stage,
    ...prediction,
    classes: Object.fromEntries(prediction.classes),
  })),
})

async function inventoriesOf({ inventory }: PlanOptions, io: Io): Promise<readonly Inventory[] | undefined> {
  if (inventory === undefined) return undefined
  const { readInventories } = await import('#forecast/plan/read-inventories.ts')
  return readInventories(inventory, io.cwd)
}

const isShown = ({ clusters }: RenderedProblem, cluster: string | undefined): boolean =>
  cluster === undefined || clusters.includes(cluster)

/** Before the first fleet, and beyond the history of a shallow clone, there is no commit to compare with. */
function nothingBefore(error: unknown, { base }: PlanOptions, io: Io): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (base !== undefined || (code !== syncErrors.KN7011.code && code !== syncErrors.KN7007.code)) throw error
  io.err('note: the fleet of the base commit cannot be read, so everything counts as added\n')
}
