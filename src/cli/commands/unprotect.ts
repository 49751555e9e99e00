// `kubenode unprotect`: for a short time protected targets may be disrupted and deletions are not blocked. It expires by itself.
import type { Command } from 'commander'
import { systemClock } from '#lib/clock.ts'
import type { Io } from '../io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { shownInWindow } from '../wrap.ts'

interface Options extends ServerOptions {
  readonly reason: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const command = program
    .command('unprotect')
    .description('lift protection and the deletion guard in the whole cluster, for a short time')
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long; expires automatically', '10m')
  withServer(command).action(async (options: Options) => {
    const [{ unprotectHold }, { placeHold }, { authorOf }] = await Promise.all([
      import('../hold/unprotect.ts'),
      import('../hold/placing.ts'),
      import('../who-am-i.ts'),
    ])
    const wish = { reason: options.reason, for: options.for }
    // A mistyped argument is reported before any request.
    unprotectHold({ ...wish, author: 'unknown' }, systemClock.now())
    const client = await connect(options, io)
    const author = await authorOf(client, io)
    const hold = unprotectHold({ ...wish, author }, systemClock.now())
    const { metadata, spec } = await placeHold(client, hold)
    io.out(shownInWindow(io, [`unprotected until ${spec.until} by ${spec.author}: ${spec.reason}`]))
    io.err(`to end it earlier, run kubectl delete operationalholds.kubenode.io ${metadata.name ?? ''}\n`)
  })
}
