// `kubenode apiserver backup | restore | check`: the data folder of an embedded server, even a running one.
import { Option, type Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'

const dataOption = () =>
  new Option('--data <dir>', 'folder for objects, keys and certificates').default('.kubenode/apiserver')

interface Given {
  readonly data: string
  readonly out?: string
  readonly from?: string
}

/** The server has an option of the same name and also accepts it after the subcommand. */
const given = (command: Command): Given => command.optsWithGlobals<Given>()

export function registerDataCommands(apiserver: Command, io: Io): void {
  apiserver
    .command('backup')
    .description('write a consistent snapshot of all objects and the keys to one file; works while the server runs')
    .addOption(dataOption())
    .requiredOption('--out <file>', 'file to write; it contains all Secrets and the CA key')
    .action(async (_, command: Command) => {
      const { data, out = '' } = given(command)
      const { backup } = await import('#programs/server-data.ts')
      backup(io, data, out)
    })
  apiserver
    .command('restore')
    .description('restore a backup into an empty data folder')
    .addOption(dataOption())
    .requiredOption('--from <file>', 'backup file')
    .action(async (_, command: Command) => {
      const { data, from = '' } = given(command)
      const { restore } = await import('#programs/server-data.ts')
      restore(io, from, data)
    })
  apiserver
    .command('check')
    .description('check a data folder or a backup for damage; exit 1 when damaged, 2 when it cannot be read')
    .addOption(dataOption())
    .option('--from <file>', 'check this backup instead')
    .action(async (_, command: Command) => {
      const { data, from } = given(command)
      const { check } = await import('#programs/server-data.ts')
      check(io, data, from)
    })
}
