// Shows the rendered objects of two commits line by line.
import { resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { differenceOf } from '#sync/difference.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { titledIn } from '#sync/git/titled-in.ts'
import { findCage } from '#sync/render/cage.ts'
import { renderCommit } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { syncErrors } from '#sync/sync-errors.ts'
import { contentLines } from './content.ts'
import { noteLooseFiles } from './loose-files.ts'
import { baseOf, commitCalled, rangeOf } from './range.ts'

export interface DiffAsked {
  readonly cluster?: string
  readonly repo?: string
  readonly path: string
  readonly detailedExitcode?: true
  readonly weakCage: 'allow' | 'refuse'
  /** Note that the fleet's code runs in the weaker cage. */
  readonly weakCageNote: string
}

/** Exits with 1 if something differs and the user asked for that. */
export async function showDiff(range: string | undefined, options: DiffAsked, io: Io): Promise<void> {
  const ends = range === undefined ? undefined : rangeOf(range)
  const repository = openLocalRepository(resolve(io.cwd, options.repo ?? '.'), { above: true })
  const after = await commitCalled(repository, ends?.head ?? 'HEAD')
  const before =
    ends === undefined ? (await repository.commit(after)).parents[0] : await baseOf(repository, ends, after)
  if (range === undefined) await noteLooseFiles(repository, { commit: after, path: options.path }, io)
  const cage = await findCage(options.weakCage)
  if (cage.isWeak) io.err(options.weakCageNote)
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
      syncErrors.KN1002_unknownCluster({
        cluster: JSON.stringify(options.cluster),
        all: all.map((d) => d.cluster).join(', '),
      }),
    )
  const paint = paintOf(hasColors(io))
  const lines = shown.flatMap((d) => contentLines(d, old.get(d.cluster), now.get(d.cluster)))
  for (const { tone, text } of lines) io.out(paint(tone, shownLine(text).trimEnd()) + '\n')
  if (lines.length === 0) io.err('the commits render to the same objects\n')
  else if (options.detailedExitcode === true) throw new Exit(EXIT_DIFFERENT)
}
