// `kubenode diff A..B`: the rendered objects of two commits, line by line, cluster by cluster, without contacting any. Renders both in the cage.
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { baseOf, commitCalled, rangeOf } from '#forecast/plan/range.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { weakCageNote, weakCageOption } from '../weak-cage.ts'

interface DiffOptions {
  readonly cluster?: string
  readonly repo?: string
  readonly path: string
  readonly detailedExitcode?: true
  readonly weakCage: 'allow' | 'refuse'
}

export function register(program: Command, io: Io): void {
  program
    .command('diff')
    .description('show the rendered objects of two commits, line by line; kubenode plan predicts their effect')
    .argument(
      '[range]',
      'BASE..HEAD, or BASE...HEAD for what HEAD changed since it left BASE; the newest commit and its first parent when left out',
    )
    .option('--cluster <name>', 'only this cluster')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option('--detailed-exitcode', 'exit with 1 when something differs (2 is an error, as always)')
    .addOption(weakCageOption())
    .action((range: string | undefined, options: DiffOptions) => diff(range, options, io))
}

async function diff(range: string | undefined, options: DiffOptions, io: Io): Promise<void> {
  const ends = range === undefined ? undefined : rangeOf(range)
  const [
    { resolve },
    { openLocalRepository },
    { findCage },
    { processRenderer },
    { renderCommit },
    { differenceOf },
    { contentLines },
    { noteLooseFiles },
    { titledIn },
  ] = await Promise.all([
    import('node:path'),
    import('#sync/git/local-repository.ts'),
    import('#sync/render/cage.ts'),
    import('#sync/render/renderer.ts'),
    import('#sync/render/render.ts'),
    import('#sync/difference.ts'),
    import('#forecast/plan/content.ts'),
    import('#forecast/plan/loose-files.ts'),
    import('#sync/git/titled-in.ts'),
  ])
  const repository = openLocalRepository(resolve(io.cwd, options.repo ?? '.'), { above: true })
  const after = await commitCalled(repository, ends?.head ?? 'HEAD')
  const before =
    ends === undefined ? (await repository.commit(after)).parents[0] : await baseOf(repository, ends, after)
  if (range === undefined) await noteLooseFiles(repository, { commit: after, path: options.path }, io)
  const cage = await findCage(options.weakCage)
  if (cage.isWeak) io.err(weakCageNote)
  const renderer = processRenderer(cage)
  const render = async (commit: string) =>
    withProgress(
      io,
      `rendering commit ${await titledIn(repository, commit)}`,
      renderCommit(commit, { repository, renderer, path: options.path }),
    )
  const now = (await render(after)).targets
  const old = before === undefined ? new Map() : (await render(before)).targets
  const all = differenceOf(old, now)
  const shown = options.cluster === undefined ? all : all.filter((d) => d.cluster === options.cluster)
  if (options.cluster !== undefined && shown.length === 0)
    throw new KubeNodeError(
      syncErrors.KN7013({ cluster: JSON.stringify(options.cluster), all: all.map((d) => d.cluster).join(', ') }),
    )
  const paint = paintOf(hasColors(io))
  const lines = shown.flatMap((d) => contentLines(d, old.get(d.cluster), now.get(d.cluster)))
  for (const { tone, text } of lines) io.out(paint(tone, shownLine(text).trimEnd()) + '\n')
  if (lines.length === 0) io.err('the commits render to the same objects\n')
  else if (options.detailedExitcode === true) throw new Exit(EXIT_DIFFERENT)
}
