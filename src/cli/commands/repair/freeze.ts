// `kubenode freeze | thaw`: stops every disruption in a cluster, or of one object in it, and allows it again. With a node's folder it works on that node alone,
// without a server.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withEvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { withServer } from '../../fleet/connect.ts'
import type { FreezeOptions, ThawOptions } from './freezing.ts'

export function register(program: Command, io: Io): void {
  const freezing = program
    .command('freeze')
    .description(
      'stop every disruption: in the whole cluster, or of machine/NAME, node/NAME, set/NAME, remedier/NAME, cluster/NAME',
    )
    .argument('[what]', 'what to freeze; the whole cluster when left out')
    .requiredOption('--reason <why>', 'why, shown to everyone who meets the freeze')
    .option('--for <duration>', 'how long; expires automatically', '4h')
    .option('--node-folder <folder>', 'freeze only the node with this agent folder, by a file in it; needs no server')
  withEvenIfAbsent(withServer(freezing)).action(async (what: string | undefined, options: FreezeOptions) =>
    options.nodeFolder === undefined
      ? (await import('./freezing.ts')).freeze(what, options, io)
      : (await import('./freezing-node.ts')).freezeFolder(options.nodeFolder, {
          what,
          reason: options.reason,
          isForGiven: freezing.getOptionValueSource('for') !== 'default',
          io,
        }),
  )

  const thawing = program
    .command('thaw')
    .description('lift a freeze')
    .argument('[what]', 'the frozen object; the whole cluster when left out')
    .option('--all', 'lift every freeze, including those of other users')
    .option('--node-folder <folder>', 'thaw only the node with this agent folder, by its file; needs no server')
  withEvenIfAbsent(withServer(thawing)).action(async (what: string | undefined, options: ThawOptions) =>
    options.nodeFolder === undefined
      ? (await import('./freezing.ts')).thaw(what, options, io)
      : (await import('./freezing-node.ts')).thawFolder(options.nodeFolder, { what, isAll: options.all === true, io }),
  )
}
