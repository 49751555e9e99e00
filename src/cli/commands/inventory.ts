// `kubenode inventory export`: what `kubenode plan --inventory` predicts from: machines and what restricts them, without Secrets and addresses.
import type { Command } from 'commander'
import { systemClock, timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownJson } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Io } from '../io.ts'
import { planErrors } from '../plan/plan-errors.ts'
import { withProgress } from '../progress.ts'
import { type ServerOptions, connect, withServer } from './inspect.ts'

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
  const { takeInventory } = await import('../plan/take-inventory.ts')
  const client = await connect(options, io)
  const cluster = options.cluster ?? (await recordedName(client))
  const takenAt = timestamp(systemClock.now())
  io.out(shownJson(await withProgress(io, `reading cluster ${cluster}`, takeInventory(client, { cluster, takenAt }))))
}

/** Sync keeps in each cluster what it applied there, under the name that the fleet has for it. */
async function recordedName(client: KubeClient): Promise<string> {
  const [{ inventory }, { listAll }, { HUB_TARGET }] = await Promise.all([
    import('#api/kinds/inventory.ts'),
    import('#kube/list-all.ts'),
    import('#api/names.ts'),
  ])
  const shards = await listAll(client, inventory)
  const names = [...new Set(shards.flatMap((i) => i.spec.cluster ?? []))].filter((name) => name !== HUB_TARGET)
  // A hub that is no member of its fleet.
  if (names.length === 0 && shards.some((i) => i.spec.target === 'Hub')) return HUB_TARGET
  const [name] = names
  if (name === undefined || names.length > 1)
    throw new KubeNodeError(planErrors.KN1663({ seen: names.length === 0 ? 'none' : names.join(', ') }))
  return name
}
