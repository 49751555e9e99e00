// `kubenode plan`: what a commit would change, cluster by cluster, without contacting any cluster: renders two commits in the cage and compares them.
import type { Command } from 'commander'
import { counted } from '#lib/counted.ts'
import type { ClusterDifference, FieldChange, MachineChanges, ObjectChange } from '#sync/difference.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import { printableLine, shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '../exit.ts'
import { type Io, showProblem } from '../io.ts'
import { outputOption } from '../output.ts'
import { hasColors } from '../paint.ts'
import { withProgress } from '../progress.ts'
import { VERSION } from '../version.ts'
import { weakCageOption, weakCageNote } from '../weak-cage.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'

interface PlanOptions {
  readonly commit: string
  readonly base?: string
  readonly cluster?: string
  readonly repo?: string
  readonly path: string
  readonly output: 'text' | 'json'
  readonly detailedExitcode?: true
  readonly weakCage: 'allow' | 'refuse'
}

export function register(program: Command, io: Io): void {
  program
    .command('plan')
    .description('show what a commit changes in each cluster, without touching any')
    .option('--commit <rev>', 'the commit to plan', 'HEAD')
    .option('--base <rev>', 'the commit to compare with; its first parent when left out')
    .option('--cluster <name>', 'only this cluster')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(outputOption(['text', 'json']).default('text'))
    .option('--detailed-exitcode', 'exit with 1 when something changes (2 is an error, as always)')
    .addOption(weakCageOption())
    .action((options: PlanOptions) => plan(options, io))
}

async function plan(options: PlanOptions, io: Io): Promise<void> {
  const [
    { resolve },
    { openLocalRepository },
    { findCage },
    { processRenderer },
    { renderCommit },
    { differenceOf, hasDifference },
    { KubeNodeError },
    { uncommitted },
    { problemText },
    { versionNote },
  ] = await Promise.all([
    import('node:path'),
    import('#sync/git/local-repository.ts'),
    import('#sync/render/cage.ts'),
    import('#sync/render/renderer.ts'),
    import('#sync/render/render.ts'),
    import('#sync/difference.ts'),
    import('#lib/errors.ts'),
    import('#sync/git/dirty.ts'),
    import('#sync/render/problems.ts'),
    import('#sync/render/written-for.ts'),
  ])
  const repository = openLocalRepository(resolve(io.cwd, options.repo ?? '.'), { above: true })
  const commit = await repository.resolve(options.commit)
  const { parents } = await repository.commit(commit)
  const [parent] = parents
  const base = options.base === undefined ? parent : await repository.resolve(options.base)
  const cage = await findCage(options.weakCage)
  if (cage.isWeak) io.err(weakCageNote)
  const folders = ['fleet', 'rules'].map((folder) => (options.path === '.' ? folder : `${options.path}/${folder}`))
  const loose = options.commit === 'HEAD' ? await uncommitted(repository, commit, folders) : []
  if (loose.length > 0)
    io.err(`note: ${loose.length} changed files under fleet/ and rules/ are not committed and not part of the plan\n`)
  const render = (id: string) =>
    withProgress(
      io,
      `rendering commit ${id.slice(0, 12)}`,
      renderCommit(id, { repository, renderer: processRenderer(cage), path: options.path }),
    )
  const after = await render(commit)
  const before =
    base === undefined ? undefined : await render(base).catch((error: unknown) => nothingBefore(error, options, io))
  const all = differenceOf(before?.targets ?? new Map(), after.targets)
  const shown = options.cluster === undefined ? all : all.filter((d) => d.cluster === options.cluster)
  if (options.cluster !== undefined && shown.length === 0)
    throw new KubeNodeError(
      syncErrors.KN7013({ cluster: JSON.stringify(options.cluster), all: all.map((d) => d.cluster).join(', ') }),
    )
  const problems = after.problems.filter((p) => isShown(p, options.cluster))
  if (options.output === 'json')
    io.out(shownJson({ commit, base: base ?? null, cage: after.cage, clusters: shown, problems }))
  else io.out(textOf(commit, base, shown, hasColors(io)))
  if (after.writtenFor !== undefined && after.writtenFor !== VERSION)
    io.err(shownLine(`note: ${versionNote(after.writtenFor, VERSION)}`))
  for (const p of problems) showProblem(io, shownLine(`${p.isCertain ? 'error' : 'warning'}: ${problemText(p)}`))
  if (after.moreProblems > 0) io.err(`and ${after.moreProblems} more; correct these first\n`)
  // Sync refuses the first kind, and applies invalid objects nowhere.
  if (problems.some((p) => p.isCertain) || shown.some((d) => d.problems.length > 0)) throw new Exit(EXIT_ERROR)
  if (options.detailedExitcode === true && hasDifference(shown)) throw new Exit(EXIT_DIFFERENT)
}

const isShown = ({ clusters }: RenderedProblem, cluster: string | undefined): boolean =>
  cluster === undefined || clusters.includes(cluster)

/** Before the first fleet, and beyond the history of a shallow clone, there is no commit to compare with. */
function nothingBefore(error: unknown, { base }: PlanOptions, io: Io): undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (base !== undefined || (code !== syncErrors.KN7011.code && code !== syncErrors.KN7007.code)) throw error
  io.err('note: the fleet of the base commit cannot be read, so everything counts as added\n')
  return undefined
}

const MARKS = { added: '+', changed: '~', removed: '-' } as const
/** Fields of one object in the text; the JSON has more. */
const MAX_FIELDS = 12
const MAX_VALUE_CHARS = 60

export function textOf(
  commit: string,
  base: string | undefined,
  all: readonly ClusterDifference[],
  isColored: boolean,
): string {
  const head = `plan of ${commit.slice(0, 12)}${base === undefined ? '' : ` against ${base.slice(0, 12)}`}`
  return shownLine(head) + all.map((d) => clusterText(d, isColored)).join('')
}

function clusterText(difference: ClusterDifference, isColored: boolean): string {
  const { cluster, added, changed, removed, unchanged, changes, problems, machines } = difference
  const counts = `${added} to add, ${changed} to change, ${removed} to remove, ${unchanged} unchanged`
  const lines = ['', `${cluster}: ${counts}`, ...changesText(changes), ...problemsText(problems)]
  const loss = lossText(machines).map((line) =>
    isColored ? `${RED}${printableLine(line)}${PLAIN}` : printableLine(line),
  )
  return [...lines.map(printableLine), ...keptText(machines).map(printableLine), ...loss, ''].join('\n')
}

/** More of either in one cluster is unreadable; the JSON has all. */
const MAX_OBJECTS = 1_000
const MAX_PROBLEMS = 100

const changesText = (all: readonly ObjectChange[]): readonly string[] => [
  ...all.slice(0, MAX_OBJECTS).flatMap(objectText),
  ...andMore(all, MAX_OBJECTS),
]

const problemsText = (all: readonly string[]): readonly string[] => [
  ...all.slice(0, MAX_PROBLEMS).map((p) => `  ! ${p}`),
  ...andMore(all, MAX_PROBLEMS),
]

const andMore = (all: readonly unknown[], shown: number): readonly string[] =>
  all.length > shown ? [`  … and ${all.length - shown} more`] : []

const RED = '\u001b[31m'
const PLAIN = '\u001b[39m'
/** Machines named in the text; the JSON has all. */
const MAX_NAMES = 5

/** The one line of a plan that must not be overlooked. */
function lossText({ deleted, sets, single }: MachineChanges): readonly string[] {
  if (deleted === 0) return []
  const ofSets = sets.filter((s) => s.deleted > 0).map((s) => `MachineSet ${s.set} (${s.deleted} of ${s.of})`)
  const more = single.length > MAX_NAMES ? ` and ${single.length - MAX_NAMES} more` : ''
  const alone = single.length === 0 ? [] : [`${single.slice(0, MAX_NAMES).join(', ')}${more}`]
  return [`  ! deletes ${counted(deleted, 'machine')}: ${[...ofSets, ...alone].join('; ')}`]
}

const keptText = ({ sets }: MachineChanges): readonly string[] =>
  sets
    .filter(({ kept }) => kept > 0)
    .map(({ set, kept }) => `    another set takes over ${counted(kept, 'machine')} of MachineSet ${set}`)

function objectText({ change, object, fields, more, isListedOnly }: ObjectChange): readonly string[] {
  const hidden = more + Math.max(0, fields.length - MAX_FIELDS)
  const rest = hidden === 0 ? [] : [`      and ${hidden} more fields`]
  const mark = isListedOnly === true ? '!' : MARKS[change]
  const unless = mark === '!' ? ` (${change}; ${declaredErrors.KN3094.code}: refused unless the cluster lists it)` : ''
  return [`  ${mark} ${object}${unless}`, ...fields.slice(0, MAX_FIELDS).map(fieldText), ...rest]
}

function fieldText({ path, before, after }: FieldChange): string {
  if (before === undefined && after === undefined) return `      ${path}: (not shown)`
  if (before === undefined) return `      ${path}: + ${value(after)}`
  if (after === undefined) return `      ${path}: - ${value(before)}`
  return `      ${path}: ${change(before, after)}`
}

const jsonText = (v: unknown): string => JSON.stringify(v) ?? ''

function value(v: unknown): string {
  const text = jsonText(v)
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS - 1)}…`
}

/** Context before the first difference of long values, so that a user finds it. */
const BEFORE_CHARS = 12

/** Only the differing part of long values: a common start tells nothing, and could hide the rest. */
function change(before: unknown, after: unknown): string {
  const [a, b] = [jsonText(before), jsonText(after)]
  const [least, most] = [Math.min(a.length, b.length), Math.max(a.length, b.length)]
  if (most <= MAX_VALUE_CHARS) return `${a} → ${b}`
  let same = 0
  while (same < least && a[same] === b[same]) same++
  let end = 0
  while (end < least - same && a.at(-1 - end) === b.at(-1 - end)) end++
  const from = same <= BEFORE_CHARS ? 0 : same - BEFORE_CHARS
  const until = from + MAX_VALUE_CHARS
  const cut = (text: string) => `${from > 0 ? '…' : ''}${text.slice(from, until)}${text.length > until ? '…' : ''}`
  const more = Math.max(0, most - end - until)
  return `${cut(a)} → ${cut(b)}${more > 0 ? ` (the change continues for ${more} characters)` : ''}`
}
