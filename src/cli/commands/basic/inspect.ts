// `kubenode describe | why | trace`: shows KubeNode objects on a server. Never changes one.
import { type Command, Option } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withNamespace, withServer } from '../../fleet/connect.ts'
import { outputOption } from '../../output.ts'
import type { ShowOptions } from './found.ts'
import type { TraceOptions } from './trace.ts'
import { withAt } from '../../fleet/history-options.ts'
import type { WhyOptions } from './why.ts'

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('describe')))
    .description('show all about one object: spec, status, events')
    .argument('<what...>', 'kind/name, or the name alone; several')
    .action(async (words: string[], options: ShowOptions) =>
      (await import('./describe.ts')).describe(words, options, io),
    )

  withAt(withNamespace(withServer(program.command('why'))))
    .description(
      'explain what objects wait for, since when, what unblocks them, and what to do first; without an object all that is wrong or waits in the fleet, worst first: exit 1 when something needs attention',
    )
    .argument('[what...]', 'kind/name, or the name alone; rack/NAME, zone/NAME; several; all contexts when left out')
    .addOption(new Option('-o, --output <form>', 'form of the output').choices(['text', 'json']))
    .action(async (words: string[], options: WhyOptions) => {
      const { why, whyFleet, whyAt } = await import('./why.ts')
      if (options.at !== undefined) return whyAt(words, { ...options, at: options.at }, io)
      await (words.length === 0 ? whyFleet(options, io) : why(words, options, io))
    })

  withAt(withNamespace(withServer(program.command('trace'))))
    .description('show which commit an object comes from and who wrote its fields, or what became of a commit')
    .argument('<what...>', 'kind/name, the name alone, or a commit on the hub')
    .addOption(outputOption(['text', 'json']).default('text'))
    .action(async (words: string[], options: TraceOptions) => (await import('./trace.ts')).trace(words, options, io))
}
