// `kubenode brake status | lift`: shows what is stopped in all clusters and which clusters may change, and lifts a stop. On the hub.
import { type Command, InvalidArgumentError } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { type ServerOptions, withServer } from '../../fleet/connect.ts'
import type { RequestOptions } from './requests.ts'

/** As the status prints it. */
function stopName(what: string): string {
  if (/^(?:everything|rule\/[a-z0-9.-]{1,253}|[a-z0-9.-]{1,63}@[\w.+-]{1,128})$/.test(what)) return what
  throw new InvalidArgumentError(
    'Name a stop as kubenode brake status prints it: COMPONENT@VERSION, rule/NAME or everything.',
  )
}

export function register(program: Command, io: Io): void {
  const brake = program.command('brake').description('the brake over all clusters: FleetBrake fleet of the hub')
  withServer(brake.command('status'))
    .description('show what is stopped in all clusters, and which clusters may change now')
    .action(async (options: ServerOptions) => (await import('./show-brake.ts')).brakeStatus(options, io))
  withServer(brake.command('lift'))
    .description('let continue what is stopped in all clusters; with as much new evidence it is stopped again')
    .argument('[stop]', 'COMPONENT@VERSION, rule/NAME or everything; all stops when left out', stopName)
    .requiredOption('--reason <why>', 'why, for the audit trail')
    .option('--for <duration>', 'how long the request is kept', '1h')
    .action(async (stop: string | undefined, options: RequestOptions) =>
      (await import('./show-brake.ts')).liftStops(stop, options, io),
    )
}
