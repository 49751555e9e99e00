// `kubenode diff A..B`: the rendered objects of two commits, line by line and cluster by cluster, without contacting a cluster. Renders both in the cage.
import type { Command } from 'commander'
import type { DiffAsked } from '#forecast/plan/show-diff.ts'
import type { Io } from '#lib/terminal/io.ts'
import { weakCageNote, weakCageOption } from '../../weak-cage.ts'

type DiffOptions = Omit<DiffAsked, 'weakCageNote'>

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
    .action(async (range: string | undefined, options: DiffOptions) =>
      (await import('#forecast/plan/show-diff.ts')).showDiff(range, { ...options, weakCageNote }, io),
    )
}
