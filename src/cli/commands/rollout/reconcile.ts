// `kubenode reconcile`: asks sync to read a source's repository now.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { withServer } from '../../fleet/connect.ts'
import type { ReconcileOptions } from './reconciling.ts'

export function register(program: Command, io: Io): void {
  withServer(program.command('reconcile'))
    .description('let sync read the repository of a source now, and report what it found: 0, or 1 when it refused it')
    .argument('[what]', 'source/NAME on the hub; every source when left out; now, for the only one')
    .option('--no-wait', 'ask only')
    .option('--timeout <duration>', 'how long to wait for sync', '2m')
    .action(async (what: string | undefined, options: ReconcileOptions) =>
      (await import('./reconciling.ts')).reconcile(what, options, io),
    )
}
