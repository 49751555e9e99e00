// Shows what a commit changes, as text, Markdown or JSON, and exits with the code that the user asked for.
import { resolve } from 'node:path'
import { defined } from '#lib/defined.ts'
import { VERSION } from '#lib/program-version.ts'
import { shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { hasColors } from '#lib/terminal/paint.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { levelOf } from '#declared/problem.ts'
import { hasDifference } from '#sync/difference.ts'
import { type LocalRepository, openLocalRepository } from '#sync/git/local-repository.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { titleIn, titledIn } from '#sync/git/titled-in.ts'
import { withWorkTree } from '#sync/git/work-tree.ts'
import { type Cage, findCage } from '#sync/render/cage.ts'
import { type RenderedProblem, problemText } from '#sync/render/problems.ts'
import { renderCommit } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { versionNote } from '#sync/render/written-for.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { isFound } from './fail-on.ts'
import { noteLooseFiles } from './loose-files.ts'
import { hasDeletions } from './losses.ts'
import { makePlan, rendersFrom } from './make-plan.ts'
import { markdownOf } from './markdown.ts'
import { jsonOf } from './plan-json.ts'
import type { PlanAsked, PlanSeen } from './plan-seen.ts'
import { signatureNote, signatureOf } from './plan-signature.ts'
import { apartWarning, baseOf, commitCalled } from './range.ts'
import { readInventories } from './read-inventories.ts'
import { loosenedText, oneWayText, outlookText, prunesText, returnsText, planText } from './text.ts'

export async function showPlan(asked: PlanAsked, io: Io): Promise<void> {
  const seen = await readPlan(asked, io)
  if (asked.output === 'json') io.out(jsonOf(seen))
  else io.out(asked.output === 'markdown' ? await markdownFor(seen, asked) : await textFor(seen, asked, io))
  await note(seen, io)
  judge(seen, asked, io)
}

async function readPlan(asked: PlanAsked, io: Io): Promise<PlanSeen> {
  const { inventory, path, cluster } = asked
  const inventories = inventory === undefined ? undefined : readInventories(inventory, io.cwd)
  const repository = openLocalRepository(resolve(io.cwd, asked.repo ?? '.'), { above: true })
  const commit = await commitCalled(repository, asked.commit)
  const [parent] = (await repository.commit(commit)).parents
  const isDirty = asked.dirty === true
  const wanted =
    asked.base === undefined
      ? isDirty
        ? commit
        : parent
      : await baseOf(repository, { base: asked.base, isFromFork: asked.isFromFork === true }, commit)
  const cage = await findCage(asked.weakCage)
  if (cage.isWeak) io.err(asked.weakCageNote)
  if (asked.commit === 'HEAD' && !isDirty) await noteLooseFiles(repository, { commit, path }, io)
  const render = rendering(repository, { cage, path }, io)
  const made = await makePlan({
    commit,
    base: wanted,
    cluster,
    inventories,
    render: rendersFrom(repository, isDirty ? withWorkTree(repository) : repository, render),
    onNothingBefore: (error) => nothingBefore(error, asked, io),
    earlier: async (id) =>
      asked.base === undefined ? (await repository.log(id, MOST_BROKEN + 1)).slice(1).map((c) => c.id) : [],
    around: (what, work) => withProgress(io, what, work),
  })
  const { base } = made
  const isWanted = base === wanted
  if (wanted !== undefined && base !== undefined && !isWanted)
    io.err(
      shownLine(
        `note: the code of commit ${await titledIn(repository, wanted)} fails; compared with ${await titledIn(repository, base)}, the newest one before it that renders`,
      ),
    )
  const problems = made.after.problems.filter((p) => isShown(p, cluster))
  const apart =
    base === undefined || !isWanted || base === parent || base === commit
      ? undefined
      : await apartWarning(repository, base, commit)
  const signature = isDirty ? undefined : await signatureOf(repository, commit)
  return { repository, commit, base, isDirty, made, problems, apart, signature }
}

const rendering =
  (repository: LocalRepository, { cage, path }: { readonly cage: Cage; readonly path: string }, io: Io) =>
  async (id: string, from: GitRepository) =>
    withProgress(
      io,
      `rendering commit ${await titledIn(repository, id)}`,
      renderCommit(id, {
        repository: from,
        renderer: processRenderer(cage),
        path,
        ...(from !== repository && { called: 'the work tree' }),
      }),
    )

async function markdownFor({ repository, made, ...seen }: PlanSeen, asked: PlanAsked): Promise<string> {
  const { commit, base, isDirty, apart, problems } = seen
  const { shown, digest, outlook, loosened, oneWay, easyReturns, prunes } = made
  // Notes are left out: nothing is wrong, and a reviewer has enough to read.
  const [certain, doubtful] = (['error', 'warning'] as const).map((level) =>
    problems.filter((p) => levelOf(p) === level).map((p) => problemText(p)),
  )
  const { maxChars, marker, base: against, cluster } = asked
  return markdownOf(
    {
      commit,
      base,
      titles: {
        commit: await titleIn(repository, commit),
        ...(base !== undefined && { base: await titleIn(repository, base) }),
      },
      ...defined({ against }),
      isDirty,
      ...defined({ only: cluster }),
      clusters: shown,
      problems: certain ?? [],
      warnings: [...(apart === undefined ? [] : [apart]), ...(doubtful ?? [])],
      outlook,
      digest,
      version: VERSION,
      loosened,
      oneWay,
      easyReturns,
      ...defined({ prunes }),
    },
    { maxChars, marker },
  )
}

async function textFor({ repository, made, ...seen }: PlanSeen, { cluster }: PlanAsked, io: Io): Promise<string> {
  const { commit, base, isDirty } = seen
  const { shown, outlook, loosened, oneWay, easyReturns, prunes } = made
  const what = `${isDirty ? 'the work tree on ' : ''}${await titledIn(repository, commit)}`
  const against = base === undefined || base === commit ? undefined : await titledIn(repository, base)
  const style = { isColored: hasColors(io), isCut: io.isTerminal }
  return (
    planText(`${what}${cluster === undefined ? '' : ` in ${cluster} only`}`, against, shown, style) +
    (prunes === undefined ? '' : prunesText(prunes)) +
    loosenedText(loosened) +
    oneWayText(oneWay) +
    returnsText(easyReturns) +
    (outlook === undefined ? '' : outlookText(outlook, oneWay, shown))
  )
}

/** Extra notes for the reader of the plan. */
async function note({ repository, made, ...seen }: PlanSeen, io: Io): Promise<void> {
  const { commit, base, apart, signature, problems } = seen
  const { after } = made
  if (after.writtenFor !== undefined && after.writtenFor !== VERSION)
    io.err(shownLine(`note: ${versionNote(after.writtenFor, VERSION)}`))
  if (made.outlook === undefined && hasDifference(made.shown))
    io.err(
      'note: the machines, steps and times of this are not predicted without an inventory of each cluster: kubenode inventory export --context CLUSTER > FILE, then add --inventory FILE\n',
    )
  if (apart !== undefined) io.err(shownLine(`warning: ${apart}`))
  if (signature !== undefined) {
    const earlier = base === undefined || !made.isBaseRead ? undefined : await signatureOf(repository, base)
    const note = signatureNote(await titledIn(repository, commit), signature, earlier)
    if (note !== undefined) io.err(shownLine(note))
  }
  for (const p of problems) showProblem(io, shownLine(`${levelOf(p)}: ${problemText(p)}`))
  if (after.moreProblems > 0) io.err(`and ${after.moreProblems} more; correct these first\n`)
}

function judge({ made, problems }: PlanSeen, { failOn = [], detailedExitcode }: PlanAsked, io: Io): void {
  const { shown, outlook, loosened, prunes } = made
  // Sync refuses certain problems, and applies invalid objects nowhere.
  if (problems.some((p) => p.isCertain) || shown.some((d) => d.problems.length > 0)) throw new Exit(EXIT_ERROR)
  const reasons = failOn.filter((what) =>
    isFound(what, { all: shown, outlook, loosened, deletes: hasDeletions(shown, prunes) }),
  )
  if (reasons.length > 0) {
    showProblem(io, `--fail-on: ${reasons.join(', ')}\n`)
    throw new Exit(EXIT_DIFFERENT)
  }
  if (detailedExitcode === true && hasDifference(shown)) throw new Exit(EXIT_DIFFERENT)
}

const isShown = ({ clusters }: RenderedProblem, cluster: string | undefined): boolean =>
  cluster === undefined || clusters.includes(cluster)

/** How many broken commits in a row a plan skips to find one to compare with. */
const MOST_BROKEN = 10

/** Before the first fleet, or beyond a shallow clone's history, there is no commit to compare with. */
function nothingBefore(error: unknown, { base }: PlanAsked, io: Io): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (base !== undefined || (code !== syncErrors.KN7011.code && code !== syncErrors.KN7007.code)) throw error
  io.err('note: the fleet of the base commit cannot be read, so everything counts as added\n')
}
