// `kubenode unprotect`: allows disruption of protected targets and does not block deletions for a short time, in the whole cluster or for one object. It
// expires by itself.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type EvenIfAbsent, withEvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface Options extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const command = program
    .command('unprotect')
    .description('lift protection and the deletion guard for a short time: in the whole cluster, or of one object')
    .argument(
      '[what]',
      'cluster/NAME, source/NAME, machineset/NAME, set/NAME, canary/NAME, remedier/NAME, policy/NAME, machine/NAME or node/NAME; when left out all but Clusters',
    )
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long; expires automatically', '10m')
  withEvenIfAbsent(withServer(command)).action(async (what: string | undefined, options: Options) => {
    const [{ unprotectHold, unprotectTarget }, { findHeld }, { placeHold }, { authorOf }] = await Promise.all([
      import('./unprotect-hold.ts'),
      import('../../fleet/find-held.ts'),
      import('#permits/holds/placing.ts'),
      import('../../current-person.ts'),
    ])
    const request = { what, reason: options.reason, for: options.for }
    // Report a bad argument before any request.
    unprotectHold({ ...request, author: 'unknown' }, systemClock.now())
    const client = await connect(options, io)
    if (what !== undefined && options.evenIfAbsent !== true) await findHeld(client, unprotectTarget(what), what)
    const author = await authorOf(client, io)
    const hold = unprotectHold({ ...request, author }, systemClock.now())
    const { metadata, spec } = await placeHold(client, hold)
    const target = what ?? 'everything but Clusters'
    io.out(shownInWindow(io, [`${target} is unprotected until ${spec.until} by ${spec.author}: ${spec.reason}`]))
    io.err(`to end it earlier, run kubectl delete operationalholds.kubenode.io ${metadata.name ?? ''}\n`)
  })
}
