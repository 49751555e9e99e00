// `kubenode maintenance plan | done | cancel | list`: planned work on machines, with the same permits, drains and quiet as maintenance that a provider announces.
// maintenance.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import { namesOfKind } from '../../fleet/name-word.ts'
import type { PlanOptions } from './maintaining.ts'

export function register(program: Command, io: Io): void {
  const group = program.command('maintenance').description('plan work on machines, end it, list what is planned')
  withServer(
    group
      .command('plan')
      .description('drain machines in time for work on them, and let no repair disturb it')
      .argument('<what...>', 'machine/NAME or node/NAME, several; or rack/NAME, zone/NAME')
      .option('--from <time>', 'when the work begins; as soon as the node is drained when left out')
      .requiredOption('--until <time>', 'when it is over, as a time or a duration after --from')
      .requiredOption('--reason <why>', 'why, shown to everyone who meets the drained nodes'),
  ).action(async (words: string[], options: PlanOptions) => (await import('./maintaining.ts')).plan(words, options, io))
  for (const verb of ['done', 'cancel'] as const)
    withServer(
      group
        .command(verb)
        .description(verb === 'done' ? 'end planned work' : 'call planned work off before it begins')
        .argument(
          '<name...>',
          'names of the events, as kubenode maintenance list shows them',
          namesOfKind('maintenanceevent'),
        ),
    ).action(async (names: string[], options: ServerOptions) =>
      (await import('./maintaining.ts')).record(verb, names, options, io),
    )
  withServer(
    group.command('list').description('list work on hosts that is not over, of people and of providers'),
  ).action(async (options: ServerOptions) => (await import('./maintaining.ts')).list(options, io))
}
