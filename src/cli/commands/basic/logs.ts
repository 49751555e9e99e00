// `kubenode logs`: the log of one component on one machine, or of the agent itself.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withServer } from '../../fleet/connect.ts'
import type { LogsOptions } from './show-logs.ts'

export function register(program: Command, io: Io): void {
  withServer(program.command('logs'))
    .description('show the log of a component on a machine, read by its agent; secrets are masked')
    .argument('<machine>', 'machine/NAME, node/NAME, or the NAME of a machine')
    .argument('[component]', 'the component; the agent itself when left out')
    .option('-c, --container <component>', 'the component, as kubectl names it; as the argument')
    .option('-f, --follow', 'show new lines until Ctrl-C, for ten minutes at most')
    .option('--since <duration>', 'lines of the last time only, such as 10m')
    .option('--tail <count>', 'the last lines of this number; all up to 256 KiB when left out')
    .action(async (what: string, component: string | undefined, options: LogsOptions) =>
      (await import('./show-logs.ts')).showLogs(what, component, options, io),
    )
}
