// `kubenode unprotect`: for a short time protected targets may be disrupted and deletions are not held back. It ends by itself.
import type { Command } from 'commander'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { systemClock } from '#lib/clock.ts'
import { printable } from '../exit.ts'
import type { Io } from '../io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'

interface Options extends ServerOptions {
  readonly reason: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const command = program
    .command('unprotect')
    .description('lift protection and the guard of deletions in the whole cluster, for a short time')
    .requiredOption('--reason <text>', 'why, for those who look at it later')
    .option('--for <duration>', 'how long; it ends by itself', '10m')
  withServer(command).action(async (options: Options) => {
    const [{ unprotectHold }, { whoAmI }] = await Promise.all([
      import('../hold/unprotect.ts'),
      import('../hold/freeze.ts'),
    ])
    const wish = { reason: options.reason, for: options.for }
    // What was mistyped is said before anybody is asked.
    unprotectHold({ ...wish, author: 'nobody' }, systemClock.now())
    const client = await connect(options, io)
    const author = (await whoAmI(client)) ?? io.env['USER'] ?? 'unknown'
    const hold = unprotectHold({ ...wish, author }, systemClock.now())
    const { metadata, spec } = await client.apply(operationalHold, hold, {
      fieldManager: FIELD_MANAGERS.cli,
      force: true,
    })
    io.out(printable(`unprotected until ${spec.until} by ${spec.author}: ${spec.reason}\n`))
    io.err(`kubectl delete operationalholds.kubenode.io ${metadata.name ?? ''} ends it before\n`)
  })
}
