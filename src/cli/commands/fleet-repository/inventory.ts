// `kubenode inventory export`: the input of `kubenode plan --inventory`: machines and what restricts them, without Secrets and addresses.
import type { Command } from 'commander'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shownJson } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { type ServerOptions, connect, withServer } from '../../fleet/connect.ts'

interface ExportOptions extends ServerOptions {
  readonly cluster?: string
}

export function register(program: Command, io: Io): void {
  const inventory = program
    .command('inventory')
    .description('snapshots of clusters, for plans where no cluster can be reached')
  withServer(inventory.command('export'))
    .description('print the machines of a cluster and what restricts them, for kubenode plan --inventory')
    .option('--cluster <name>', 'name of the cluster in the fleet; what sync recorded in it when left out')
    .action((options: ExportOptions) => exportInventory(options, io))
}

async function exportInventory(options: ExportOptions, io: Io): Promise<void> {
  const [{ takeInventory }, { recordedName }] = await Promise.all([
    import('#forecast/plan/take-inventory.ts'),
    import('#forecast/plan/recorded-name.ts'),
  ])
  const client = await connect(options, io)
  const cluster = options.cluster ?? (await recordedName(client))
  const takenAt = timestamp(systemClock.now())
  io.out(shownJson(await withProgress(io, `reading cluster ${cluster}`, takeInventory(client, { cluster, takenAt }))))
}
