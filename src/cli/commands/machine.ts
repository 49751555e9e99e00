// `kubenode import` and `kubenode machine join-command`: existing hosts, first only observed, then joined.
import type { Command } from 'commander'
import { systemClock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { Exit, EXIT_ERROR } from '../exit.ts'
import type { Io } from '../io.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'
import { cliErrors } from '../cli-errors.ts'

interface ImportOptions extends ServerOptions {
  readonly selector?: string
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly undo?: boolean
  readonly output?: string
}

interface ReadmitOptions extends ServerOptions {
  readonly selector?: string
  readonly file?: string
  readonly token?: boolean
  readonly list?: boolean
  readonly allWaiting?: string
  readonly for: string
}

interface RevokeOptions extends ServerOptions {
  readonly selector?: string
  readonly file?: string
  readonly reason?: string
}

export function register(program: Command, io: Io): void {
  const importing = program
    .command('import')
    .description('observe existing Nodes as Machines without changing them; can be repeated and undone')
    .argument('[nodes...]', 'names of Nodes')
    .option('-l, --selector <labels>', 'Nodes with these labels')
    .option('--all', 'every Node')
    .option('--dry-run', 'show what would be done')
    .option('--undo', 'undo an import of machines that are still observed only')
    .option('-o, --output <yaml>', 'print the Machines for git instead of creating them')
  withServer(importing).action(async (names: string[], options: ImportOptions) => {
    if (names.length === 0 && options.selector === undefined && options.all !== true)
      throw new KubeNodeError(cliErrors.KN1361())
    if (options.output !== undefined && options.output !== 'yaml')
      throw new KubeNodeError(cliErrors.KN1362({ output: options.output }))
    const { runImport } = await import('../machines/run-import.ts')
    const client = await connect(options, io)
    const { failed } = await runImport({ client, names, ...options }, io)
    if (failed > 0) throw new Exit(EXIT_ERROR)
  })

  const machine = program.command('machine').description('commands for single machines')
  withServer(machine.command('readmit'))
    .description('let agents whose certificates are of an earlier Machine, or expired, come back as these machines')
    .argument('[names...]', 'names of Machines')
    .option('-l, --selector <labels>', 'Machines with these labels')
    .option('--file <file>', 'file with one name a line; - for standard input')
    .option('--list', 'show which machines are waiting to be readmitted, and change nothing')
    .option('--all-waiting <count>', 'every machine that is waiting; count is the number that --list shows')
    .option('--token', 'make a join token for each as well, for hosts whose key was revoked or lost')
    .option('--for <duration>', 'how long they may come back, at most 7d', '24h')
    .action(async (names: string[], options: ReadmitOptions) => {
      const { readmit } = await import('../machines/readmit.ts')
      const client = await connect(options, io)
      const { failed } = await readmit({ client, names, now: systemClock.now(), ...options }, io)
      if (failed > 0) throw new Exit(EXIT_ERROR)
    })
  withServer(machine.command('revoke'))
    .description('refuse the keys of the agents of these machines from now on, for example because one was stolen')
    .argument('[names...]', 'names of Machines')
    .option('-l, --selector <labels>', 'Machines with these labels')
    .option('--file <file>', 'file with one name a line; - for standard input')
    .option('--reason <text>', 'why; shown on the Machine')
    .action(async (names: string[], options: RevokeOptions) => {
      const { revoke } = await import('../machines/revoke.ts')
      const client = await connect(options, io)
      const { failed } = await revoke({ client, names, now: systemClock.now(), ...options }, io)
      if (failed > 0) throw new Exit(EXIT_ERROR)
    })
  withServer(machine.command('join-command'))
    .description('print the line to run on an existing host so that it becomes this machine')
    .argument('<name>', 'the Machine')
    .action(async (name: string, options: ServerOptions) => {
      const [{ joinCommand, validity }, { machine: type }, { handOverKey }, { findObject }] = await Promise.all([
        import('../machines/join-command.ts'),
        import('#api/kinds/machine.ts'),
        import('#identity/join-token.ts'),
        import('../inspect/find-object.ts'),
      ])
      const client = await connect(options, io)
      const found = await findObject(client, type, name)
      const secrets = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }
      const token = await client.get(secrets, handOverKey(found.metadata.uid ?? ''))
      const command = joinCommand(found, token === undefined ? [] : [token], systemClock.now())
      io.out(`${command.line}\n`)
      io.err(shownLine(validity(command)))
    })
}
