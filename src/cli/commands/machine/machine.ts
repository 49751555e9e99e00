// `kubenode import` and `kubenode machine join-command`: existing hosts are first only observed, then joined.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { Exit, EXIT_ERROR } from '#lib/terminal/exit.ts'
import { nameOfKind, namesOfKind } from '../../fleet/name-word.ts'
import { countOption } from '../../counted-option.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'
import type { ImportAsked } from '#install/machines/import-nodes.ts'
import type { JoinAsked } from '#install/machines/print-join-line.ts'

interface ImportOptions extends ServerOptions, ImportAsked {}

interface AdoptOptions extends ServerOptions {
  readonly dryRun?: boolean
}

interface ReadmitOptions extends ServerOptions {
  readonly selector?: string
  readonly file?: string
  readonly token?: boolean
  readonly list?: boolean
  readonly allWaiting?: string
  readonly for: string
}

interface JoinOptions extends ServerOptions, JoinAsked {}

interface RevokeOptions extends ServerOptions {
  readonly selector?: string
  readonly file?: string
  readonly reason?: string
}

const withMachines = (command: Command): Command =>
  withServer(command)
    .argument('[names...]', 'names of Machines', namesOfKind('machine'))
    .option('-l, --selector <labels>', 'Machines with these labels')
    .option('--file <file>', 'file with one name a line; - for standard input')

export function register(program: Command, io: Io): void {
  const importing = program
    .command('import')
    .description('observe existing Nodes as Machines without changing them; can be repeated and undone')
    .argument('[nodes...]', 'names of Nodes', namesOfKind('node'))
    .option('-l, --selector <labels>', 'Nodes with these labels, outside of the control plane')
    .option('--all', 'every Node outside of the control plane')
    .option('--dry-run', 'show what would be done')
    .option('--undo', 'undo an import of machines that are still observed only')
    .option(
      '--provider <name>',
      'Nodes on hosts of this cloud that have the tag; the cloud is only read, with your keys',
    )
    .option('--tag <key=value>', 'with --provider: the tag')
    .option('--providers <file>', 'with --provider: YAML or JSON file with the options of the cloud')
    .option('-o, --output <format>', 'print the Machines for git instead of creating them: yaml or ts')
  withServer(importing).action(async (names: string[], options: ImportOptions) => {
    const { importNodes } = await import('#install/machines/import-nodes.ts')
    reportFailed(await importNodes(names, options, io, () => connect(options, io)))
  })

  withServer(program.command('adopt'))
    .description('let the agent of an existing node take over files of others; their originals are kept')
    .argument('<node>', 'the Node, or its Machine', nameOfKind('node', 'machine'))
    .option('--dry-run', 'show what equals, what differs, and what would be kept, replaced and restarted')
    .action((name: string, options: AdoptOptions) => adoptNode(name, options, io))

  const machine = program.command('machine').description('commands for single machines')
  withMachines(machine.command('readmit'))
    .description('let agents whose certificates are of an earlier Machine, or expired, come back as these machines')
    .option('--list', 'show which machines are waiting to be readmitted, and change nothing')
    .addOption(
      countOption('--all-waiting <count>', 'every machine that is waiting; count is the number that --list shows', 0),
    )
    .option('--token', 'make a join token for each as well, for hosts whose key was revoked or lost')
    .option('--for <duration>', 'how long they may come back, at most 7d', '24h')
    .action((names: string[], options: ReadmitOptions) => readmitMachines(names, options, io))
  withMachines(machine.command('revoke'))
    .description('refuse the keys of the agents of these machines from now on, for example because one was stolen')
    .option('--reason <why>', 'why; shown on the Machine')
    .action((names: string[], options: RevokeOptions) => revokeKeys(names, options, io))
  withServer(machine.command('join-command'))
    .description('print the line to run on an existing host so that it becomes this machine')
    .argument('<name>', 'the Machine', nameOfKind('machine'))
    .option('--cloud-init', 'print it as user data of cloud-init')
    .option('--offline', 'for a host that has the files of kubenode agent bundle in the current folder')
    .option('--join-script <file>', 'the join.sh that is served, when the installation does not name its digest')
    .option('--address <ip>', 'address of the Node; the one towards the API server when left out')
    .option('--prefix <dir>', 'where the programs go; /opt/kubenode when left out')
    .option('--proxy <url>', 'proxy for downloads; that of the environment of the host when left out')
    .option('--proxy-except <hosts>', 'with --proxy: hosts that are reached directly, separated by commas')
    .option('--proxy-api', 'with --proxy: reach the API server through it too')
    .action(async (name: string, options: JoinOptions) => {
      const { printJoinLine } = await import('#install/machines/print-join-line.ts')
      await printJoinLine(name, options, io, () => connect(options, io))
    })
}

function reportFailed({ failed }: { readonly failed: number }): void {
  if (failed > 0) throw new Exit(EXIT_ERROR)
}

async function adoptNode(name: string, options: AdoptOptions, io: Io): Promise<void> {
  const { adopt } = await import('#install/machines/adopt.ts')
  const client = await connect(options, io)
  await adopt({ client, name, ...(options.dryRun === true && { dryRun: true }) }, io)
}

async function readmitMachines(names: readonly string[], options: ReadmitOptions, io: Io): Promise<void> {
  const { readmit, readmittedFor } = await import('#install/machines/readmit.ts')
  readmittedFor(options.for)
  const client = await connect(options, io)
  reportFailed(await readmit({ client, names, now: systemClock.now(), ...options }, io))
}

async function revokeKeys(names: readonly string[], options: RevokeOptions, io: Io): Promise<void> {
  const { revoke } = await import('#install/machines/revoke.ts')
  const client = await connect(options, io)
  reportFailed(await revoke({ client, names, now: systemClock.now(), ...options }, io))
}
