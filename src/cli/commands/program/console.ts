// `kubenode console`: one page for every cluster of a kubeconfig, served on this machine to its user only.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import type { ConsoleAsked } from '#programs/run/own-console.ts'
import { weakCageOption } from '../../weak-cage.ts'
import { PROGRAMS } from '#programs/all.ts'

export function register(program: Command, io: Io): void {
  program
    .command('console')
    .description('serve a page for the clusters of a kubeconfig on this machine and print its link; Ctrl-C ends it')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; all its contexts are shown; when left out KUBECONFIG, then ~/.kube/config or the local fleet around this folder',
    )
    .option(
      '--context <name>',
      'context of the kubeconfig; several times for several, all when left out',
      (name: string, names: readonly string[]) => [...names, name],
      [],
    )
    .option('--port <n>', 'port on the loopback address; 0 takes a free one', '0')
    .option('--repo <dir>', 'repository of the fleet, for plans of its commits')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .option(
      '--history <dir>',
      'folder of a recorded history, whose clusters are named like the contexts; that of the local fleet when left out',
    )
    .addOption(weakCageOption())
    .action(async (options: ConsoleAsked) => (await PROGRAMS.console.load()).serveOwnConsole(options, io))
}
