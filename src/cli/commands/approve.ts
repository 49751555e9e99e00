// `kubenode approve operationpermit/NAME | release/NAME`: says yes to exactly what the object asks for now.
import type { Command } from 'commander'
import { approval } from '#api/kinds/approval.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printable } from '../exit.ts'
import type { Io } from '../io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'

interface Options extends ServerOptions {
  readonly reason?: string
  readonly for: string
}

export function register(program: Command, io: Io): void {
  const command = program
    .command('approve')
    .description('approve what operationpermit/NAME or release/NAME asks for, as it is now')
    .argument('<what>', 'operationpermit/NAME, or release/NAME on the hub')
    .option('--reason <text>', 'why, for those who look at it later')
    .option('--for <duration>', 'how long it counts', '1h')
  withServer(command).action(async (what: string, options: Options) => {
    const [{ approvalOf }, { whoAmI }, { kindCalled }] = await Promise.all([
      import('../approve/approval.ts'),
      import('../who-am-i.ts'),
      import('../inspect/target.ts'),
    ])
    const [word = '', name = '', ...rest] = what.split('/')
    const { kind } = kindCalled(word)
    if ((kind !== operationPermit.kind && kind !== release.kind) || name === '' || rest.length > 0)
      throw new KubeNodeError(
        'KN1334',
        `cannot approve ${JSON.stringify(what)}: name it as operationpermit/NAME or release/NAME`,
      )
    const client = await connect(options, io)
    const object =
      kind === operationPermit.kind
        ? await client.get(operationPermit, { name })
        : await client.get(release, { namespace: SYSTEM_NAMESPACE, name })
    if (object === undefined) throw new KubeNodeError('KN1313', `there is no ${what} on this server`)
    const who = await whoAmI(client)
    if (who === undefined)
      throw new KubeNodeError('KN1335', `cannot approve ${what}: the server does not say who you are; log in first`)
    const wanted = approvalOf(object, who, { reason: options.reason, for: options.for }, systemClock.now())
    const made = await client.create(approval, wanted)
    io.out(printable(`approved ${what} as ${who.name} until ${made.spec.until} (approval/${made.metadata.name})\n`))
  })
}
