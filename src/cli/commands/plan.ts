// `kubenode plan`: what a commit would change, cluster by cluster, without contacting any cluster: renders two commits in the cage and compares them.
import type { Command } from 'commander'
import { counted } from '#lib/counted.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ClusterDifference, FieldChange, MachineChanges, ObjectChange } from '#sync/difference.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import { printableLine, shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, EXIT_ERROR, Exit } from '../exit.ts'
import { type Io, showProblem } from '../io.ts'
import { outputOption } from '../output.ts'
import { getErrors } from '../get/get-errors.ts'
import { type Tone, hasColors, paintOf } from '../paint.ts'
import { withProgress } from '../progress.ts'
import { VERSION } from '../version.ts'
import { weakCageOption, weakCageNote } from '../weak-cage.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { syncErrors } from '#sync/sync-errors.ts'

interface PlanOptions {
  readonly commit: string
  readonly base?: string
  readonly dirty?: true
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
    .option(
      '--base <rev>',
      'the commit or branch to compare with, such as main; its first parent when left out, with --dirty the commit itself',
    )
    .option('--dirty', 'plan the edits of the work tree as if they were committed')
    .option('--cluster <name>', 'only this cluster')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(outputOption(['text', 'json']).default('text'))
    .option('--detailed-exitcode', 'exit with 1 when something changes (2 is an error, as always)')
    .addOption(weakCageOption())
    .action((options: PlanOptions) => plan(options, io))
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
    { differenceOf, hasDifference },
    { uncommitted },
    { withWorkTree },
    { problemText },
    { versionNote },
    { signatureNote, signatureOf },
  ] = await Promise.all([
    import('node:path'),
    import('#sync/git/local-repository.ts'),
    import('#sync/render/cage.ts'),
    import('#sync/render/renderer.ts'),
    import('#sync/render/render.ts'),
    import('#sync/difference.ts'),
    import('#sync/git/dirty.ts'),
    import('#sync/git/work-tree.ts'),
    import('#sync/render/problems.ts'),
    import('#sync/render/written-for.ts'),
    import('./plan-signature.ts'),
  ])
  const repository = openLocalRepository(resolve(io.cwd, options.repo ?? '.'), { above: true })
  const commit = await repository.resolve(options.commit)
  const { parents } = await repository.commit(commit)
  const [parent] = parents
  const isDirty = options.dirty === true
  const base = options.base === undefined ? (isDirty ? commit : parent) : await repository.resolve(options.base)
  const cage = await findCage(options.weakCage)
  if (cage.isWeak) io.err(weakCageNote)
  const folders = ['fleet', 'rules'].map((folder) => (options.path === '.' ? folder : `${options.path}/${folder}`))
  const loose = options.commit === 'HEAD' && !isDirty ? await uncommitted(repository, commit, folders) : []
  if (loose.length > 0)
    io.err(`note: ${loose.length} changed files under fleet/ and rules/ are not committed and not part of the plan\n`)
  const render = (id: string, from: GitRepository = repository) =>
    withProgress(
      io,
      `rendering commit ${id.slice(0, 12)}`,
      renderCommit(id, { repository: from, renderer: processRenderer(cage), path: options.path }),
    )
  const after = await render(commit, isDirty ? withWorkTree(repository) : repository)
  const before =
    base === undefined ? undefined : await render(base).catch((error: unknown) => nothingBefore(error, options, io))
  const all = differenceOf(before?.targets ?? new Map(), after.targets)
  const shown = options.cluster === undefined ? all : all.filter((d) => d.cluster === options.cluster)
  if (options.cluster !== undefined && shown.length === 0)
    throw new KubeNodeError(
      syncErrors.KN7013({ cluster: JSON.stringify(options.cluster), all: all.map((d) => d.cluster).join(', ') }),
    )
  const problems = after.problems.filter((p) => isShown(p, options.cluster))
  const signature = isDirty ? undefined : signatureOf(repository, commit)
  if (options.output === 'json')
    io.out(
      shownJson({
        commit,
        ...(isDirty && { dirty: true }),
        base: base ?? null,
        ...(signature !== undefined && { signature }),
        cage: after.cage,
        clusters: shown,
        problems,
      }),
    )
  else
    io.out(
      textOf(isDirty ? `the work tree on ${commit.slice(0, 12)}` : commit.slice(0, 12), base, shown, {
        isColored: hasColors(io),
        isCut: io.isTerminal,
      }),
    )
  if (after.writtenFor !== undefined && after.writtenFor !== VERSION)
    io.err(shownLine(`note: ${versionNote(after.writtenFor, VERSION)}`))
  if (signature !== undefined) {
    const earlier = base === undefined || before === undefined ? undefined : signatureOf(repository, base)
    const note = signatureNote(commit, signature, earlier)
    if (note !== undefined) io.err(shownLine(note))
  }
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

export interface PlanStyle {
  readonly isColored: boolean
  /** On a terminal; a pipe gets every value in full. */
  readonly isCut: boolean
}

export function textOf(
  what: string,
  base: string | undefined,
  all: readonly ClusterDifference[],
  style: PlanStyle,
): string {
  const head = `plan of ${what}${base === undefined ? '' : ` against ${base.slice(0, 12)}`}`
  return (
    shownLine(head) +
    groupsOf(all)
      .map((group) => clusterText(group, style))
      .join('')
  )
}

/** Clusters in which the same changes are one entry: a fleet of fifty is read once. */
const groupsOf = (all: readonly ClusterDifference[]): readonly (readonly ClusterDifference[])[] => [
  ...Map.groupBy(all, (one) => JSON.stringify({ ...one, cluster: '' })).values(),
]

function clusterText(group: readonly ClusterDifference[], style: PlanStyle): string {
  const [difference] = group
  if (difference === undefined) return ''
  const { added, changed, removed, unchanged, changes, problems, machines } = difference
  const counts = `${added} to add, ${changed} to change, ${removed} to remove, ${unchanged} unchanged`
  const each = group.length === 1 ? '' : ` in each of these ${group.length} clusters`
  const paint = paintOf(style.isColored)
  const painted = (line: string): string => paint(toneOfMark(line), printableLine(line))
  const loss = lossText(machines).map((line) => paint('bad', printableLine(line)))
  return [
    '',
    printableLine(`${group.map((d) => d.cluster).join(', ')}: ${counts}${each}`),
    ...changesText(changes, style).map(painted),
    ...problemsText(problems).map(painted),
    ...keptText(machines).map(printableLine),
    ...loss,
    '',
  ].join('\n')
}

/** As people know it from diffs. */
const toneOfMark = (line: string): Tone | undefined =>
  line.startsWith('  + ')
    ? 'good'
    : line.startsWith('  - ') || line.startsWith('  ! ')
      ? 'bad'
      : line.startsWith('  ~ ')
        ? 'warn'
        : undefined

/** More of either in one cluster is unreadable; the JSON has all. */
const MAX_OBJECTS = 1_000
const MAX_PROBLEMS = 100

const changesText = (all: readonly ObjectChange[], { isCut }: PlanStyle): readonly string[] => [
  ...all.slice(0, MAX_OBJECTS).flatMap((change) => objectText(change, isCut)),
  ...andMore(all, MAX_OBJECTS),
]

const problemsText = (all: readonly string[]): readonly string[] => [
  ...all.slice(0, MAX_PROBLEMS).map((p) => `  ! ${p}`),
  ...andMore(all, MAX_PROBLEMS),
]

const andMore = (all: readonly unknown[], shown: number): readonly string[] =>
  all.length > shown ? [`  … and ${all.length - shown} more`] : []

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

function objectText({ change, object, fields, more, isListedOnly }: ObjectChange, isCut: boolean): readonly string[] {
  const shown = isCut ? fields.slice(0, MAX_FIELDS) : fields
  const hidden = more + fields.length - shown.length
  const rest = hidden === 0 ? [] : [`      and ${hidden} more fields`]
  const mark = isListedOnly === true ? '!' : MARKS[change]
  const unless = mark === '!' ? ` (${change}; ${declaredErrors.KN3094.code}: refused unless the cluster lists it)` : ''
  return [`  ${mark} ${object}${unless}`, ...shown.map((f) => fieldText(f, isCut)), ...rest]
}

function fieldText({ path, before, after }: FieldChange, isCut: boolean): string {
  const value = isCut ? shortValue : jsonText
  if (before === undefined && after === undefined) return `      ${path}: (not shown)`
  if (before === undefined) return `      ${path}: + ${value(after)}`
  if (after === undefined) return `      ${path}: - ${value(before)}`
  return `      ${path}: ${isCut ? change(before, after) : `${jsonText(before)} → ${jsonText(after)}`}`
}

const jsonText = (v: unknown): string => JSON.stringify(v) ?? ''

function shortValue(v: unknown): string {
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
