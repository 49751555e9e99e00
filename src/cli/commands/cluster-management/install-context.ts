// Shared by the installation commands: options of the settings, the cluster, and the progress display.
import type { Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { InstallContext } from '#install/context.ts'
import { installErrors } from '#install/install-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { countOption } from '../../counted-option.ts'
import { liveBlock, waitScreen } from '../../wait-screen.ts'
import { type ServerOptions, connectionTo } from '../../fleet/connect.ts'

export interface Waiting {
  readonly timeout: string
}

export const withSettings = (command: Command): Command =>
  command
    .option('--values <file>', 'settings of the installation, as YAML; see docs/operations/install.md')
    .option('--cluster <name>', 'name of the cluster in the fleet')
    .option('--roles <roles>', 'hub, business, or both, separated by commas')
    .option('--image <reference>', 'image of the programs, by digest: NAME@sha256:…')
    .option('--registry <prefix>', 'registry and path that replace those of the image')
    .addOption(countOption('--replicas <count>', 'pods of each program'))

export const withTimeout = (command: Command, length: string): Command =>
  command.option('--timeout <duration>', 'how long to wait for each step', length)

export async function contextOf(options: ServerOptions & Partial<Waiting>, io: Io): Promise<InstallContext> {
  const timeoutMs = durationMs(options.timeout ?? '5m')
  if (timeoutMs === undefined)
    throw new KubeNodeError(
      installErrors.KN1002_flag({
        flag: `--timeout ${options.timeout}`,
        why: 'write a duration such as 5m',
        command: 'install',
      }),
    )
  const [{ client, server }, { ResourceTypes }] = await Promise.all([
    connectionTo(options, io),
    import('#delivery/resource-types.ts'),
  ])
  const screen = waitScreen(io)
  return {
    client,
    server,
    types: new ResourceTypes(client, () => systemClock.monotonic()),
    clock: systemClock,
    print: screen.print,
    ...(screen.isTerminal && liveBlock(screen, systemClock)),
    timeoutMs,
  }
}
