// `kubenode history …`: which commits reached a cluster or set, and recorded history: nodes, rules, releases, clusters, who did what, exports.
// One command for all forms: commander would give the options that they share to the parent of subcommands.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withServer } from '../../fleet/connect.ts'
import { withHistory } from '../../fleet/history-options.ts'
import { outputOption } from '../../output.ts'
import type { HistoryCommandOptions } from './show-recorded.ts'

export function register(program: Command, io: Io): void {
  withHistory(withServer(program.command('history')))
    .description(
      'list the commits that reached the fleet, a cluster or a set; show, export or import what was recorded about nodes, releases and other objects, and who did what',
    )
    .argument(
      '[what...]',
      'cluster/NAME on the hub, or set/NAME in its cluster, for commits, all when left out; node/NAME, machine/NAME, rule/NAME, release/NAME, permit/NAME, job/NAME; who [NAME]; recorded; export FILE; sample FILE; import FILE FOLDER; - for a pipe',
    )
    .option('--since <time>', 'from when: a time, a day, or how long ago, such as 3d; from the beginning when left out')
    .option('--until <time>', 'until when; now when left out')
    .option('--cluster <name>', 'what was recorded in this cluster only')
    .option('--redact', 'with export or sample: replace names of nodes, clusters and people')
    .addOption(outputOption(['json', 'yaml', 'lines']))
    .action(async (what: readonly string[], options: HistoryCommandOptions) =>
      (await import('./recorded-forms.ts')).showHistory(what, options, io),
    )
}
