// `kubenode put-back | allow-edit`: handles an edited object that git declares, even while git or the hub is unavailable.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'

interface AllowOptions extends ServerOptions {
  readonly digest: string
  readonly reason: string
  readonly for: string
}

const WHAT = 'set/NAME, machineset/NAME, canary/NAME, remedier/NAME or policy/NAME'

export function register(program: Command, io: Io): void {
  withServer(
    program
      .command('put-back')
      .description(`undo an edit: bring ${WHAT} back to what git declares`)
      .argument('<what>', 'the edited object'),
  ).action(async (what: string, options: ServerOptions) => {
    const { editable, putBack } = await import('./edit.ts')
    editable(what)
    const done = await putBack(await connect(options, io), what, systemClock.now())
    if (done === undefined) {
      io.out(shownInWindow(io, [`${what} is in sync with git`]))
      return
    }
    const { committed, ended, remaining } = done
    io.out(shownInWindow(io, [`${what} is back at what git declares (content ${committed})`]))
    for (const hold of ended)
      io.out(shownInWindow(io, [`operationalhold/${hold}, which allowed the edit, was deleted`]))
    for (const hold of remaining)
      io.err(shownLine(`operationalhold/${hold} still allows the edit: you are not allowed to delete it`))
  })

  withServer(
    program
      .command('allow-edit')
      .description(`let an edit of ${WHAT} take effect for a while although git declares something else`)
      .argument('<what>', 'the edited object')
      .requiredOption('--digest <digest>', 'the edited content, as kubenode why shows it; another edit is not allowed')
      .requiredOption('--reason <why>', 'why, for the audit trail')
      .option('--for <duration>', 'how long; expires automatically', '8h'),
  ).action(async (what: string, options: AllowOptions) => {
    const [{ allowHold, checkDigest }, { placeHold }, { authorOf }] = await Promise.all([
      import('./edit.ts'),
      import('#permits/holds/placing.ts'),
      import('../../current-person.ts'),
    ])
    const { digest, reason } = options
    const request = { what, digest, reason, for: options.for, author: 'unknown' }
    // Report a bad argument before any request.
    allowHold(request, systemClock.now())
    const client = await connect(options, io)
    await checkDigest(client, request, systemClock.now())
    const hold = allowHold({ ...request, author: await authorOf(client, io) }, systemClock.now())
    const { metadata, spec } = await placeHold(client, hold)
    io.out(
      shownInWindow(io, [
        `content ${digest} of ${what} takes effect until ${spec.until} (${spec.author}: ${spec.reason})`,
      ]),
    )
    io.err(
      `commit the change before then; kubectl delete operationalholds.kubenode.io ${metadata.name ?? ''} ends it earlier\n`,
    )
  })
}
