// `kubenode apiserver backup | restore | check`: the data folder of an embedded server, also of a running one.
import { Option, type Command } from 'commander'
import type { DataReport } from '#apiserver/storage/check-data.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { printable, shownLine } from '#lib/printable.ts'
import { Exit, EXIT_DIFFERENT } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { requireTrustedFolder } from '#lib/trusted-folder.ts'

const dataOption = () =>
  new Option('--data <dir>', 'folder for objects, keys and certificates').default('.kubenode/apiserver')

interface Given {
  readonly data: string
  readonly out?: string
  readonly from?: string
}

/** The server has an option of the same name, and also takes it after the name of the command. */
const given = (command: Command): Given => command.optsWithGlobals<Given>()

export function registerDataCommands(apiserver: Command, io: Io): void {
  apiserver
    .command('backup')
    .description('write a consistent snapshot of all objects and the keys to one file; works while the server runs')
    .addOption(dataOption())
    .requiredOption('--out <file>', 'file to write; it contains all Secrets and the CA key')
    .action(async (_, command: Command) => {
      const { data, out = '' } = given(command)
      keepFilesPrivate()
      const { backupData } = await import('#apiserver/storage/backup.ts')
      const report = backupData(data, out)
      io.out(`${out}\n`)
      io.err(`backed up ${report.objects} objects at revision ${report.revision}\n`)
    })
  apiserver
    .command('restore')
    .description('restore a backup into an empty data folder')
    .addOption(dataOption())
    .requiredOption('--from <file>', 'backup file')
    .action(async (_, command: Command) => {
      const { data, from = '' } = given(command)
      keepFilesPrivate()
      requireTrustedFolder(data, { isClosedByCaller: true })
      const [{ restoreData }, { systemClock }] = await Promise.all([
        import('#apiserver/storage/restore.ts'),
        import('#lib/clock.ts'),
      ])
      const report = restoreData(from, data, { now: systemClock.now() })
      io.out(`${data}\n`)
      io.err(`restored ${report.objects} objects; revisions continue from ${report.revision}, so clients list again\n`)
    })
  apiserver
    .command('check')
    .description('check a data folder or a backup for damage; exit 1 when damaged, 2 when it cannot be read')
    .addOption(dataOption())
    .option('--from <file>', 'check this backup instead')
    .action(async (_, command: Command) => {
      const { data, from } = given(command)
      const [{ checkData }, { OBJECTS }, { join }] = await Promise.all([
        import('#apiserver/storage/check-data.ts'),
        import('#apiserver/storage/backup.ts'),
        import('node:path'),
      ])
      const file = from ?? join(data, OBJECTS)
      print(io, file, checkData(file))
    })
}

function print(io: Io, file: string, { format, revision, objects, counts, problems }: DataReport): void {
  io.out(`format    ${format}\nrevision  ${revision}\nobjects   ${objects}\n`)
  for (const [resource, n] of counts) io.out(`  ${String(n).padStart(7)}  ${printable(resource.replace(/^\//, ''))}\n`)
  if (problems.length === 0) {
    io.err(`${file} is sound\n`)
    return
  }
  for (const problem of problems) io.err(shownLine(problem))
  io.err(`${file} is damaged; restore a backup into an empty folder with kubenode apiserver restore\n`)
  throw new Exit(EXIT_DIFFERENT)
}
