// `kubenode events | tree | watch`: the events of objects, the objects that belong to them, and a rollout's progress.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withNamespace, withServer } from '../../fleet/connect.ts'
import type { EventsOptions, Options, WatchOptions } from './exploring.ts'

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('events')))
    .description('list what happened to objects, newest last; of all KubeNode objects and Nodes when none is named')
    .argument('[what...]', 'kind/name; several')
    .option('--for <kind/name>', 'as the argument')
    .option('-A, --all-namespaces', 'of all namespaces, as when none is named')
    .addOption(new Option('--types <types>', 'of these types only: Normal, Warning').argParser(eventTypes))
    .option('-w, --watch', 'then show each new event, until Ctrl-C')
    .action(async (words: string[], options: EventsOptions) =>
      (await import('./exploring.ts')).events(words, options, io),
    )

  withNamespace(withServer(program.command('tree')))
    .description('show what belongs to machine/NAME, node/NAME, release/NAME or set/NAME')
    .argument('<what...>', 'kind/name')
    .action(async (words: string[], options: Options) => (await import('./exploring.ts')).tree(words, options, io))

  withNamespace(withServer(program.command('watch')))
    .description('follow rollouts or releases until Ctrl-C; in a pipe one line for each change')
    .argument('[what...]', 'set/NAME or release/NAME; all sets and the newest releases when left out')
    .option('--until-done', 'end when nothing is in progress: 0, or 1 when something failed')
    .option('--timeout <duration>', 'with --until-done: how long at most; then 1, and the rollout continues')
    .action(async (words: string[], options: WatchOptions) =>
      (await import('./exploring.ts')).watch(words, options, io),
    )
}

const TYPES = ['Normal', 'Warning']

function eventTypes(text: string): readonly string[] {
  const types = text.split(',').map((word) => TYPES.find((t) => t.toLowerCase() === word.trim().toLowerCase()) ?? '')
  if (types.includes('')) throw new InvalidArgumentError(`Allowed types are ${TYPES.join(', ')}.`)
  return types
}
