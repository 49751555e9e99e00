// A console over the clusters of a sync bench, with the repository that its hub follows.
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type Logger, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { ConsoleRepository, type RepositoryPlace } from '#console/repository/repository.ts'
import { startConsole } from '#console/server/console.ts'
import { eventually, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { NO_PAGE } from './console-world.ts'
import { Browser } from './plain-browser.ts'

export interface FleetConsole {
  readonly browser: Browser
  readonly repository: ConsoleRepository | undefined
  readonly stop: () => Promise<void>
}

interface Options {
  readonly hasRepository?: boolean
  readonly log?: Logger
  readonly git?: RepositoryPlace['git']
}

export async function fleetConsole(
  bench: SyncBench,
  { hasRepository = true, log = silentLogger, git }: Options = {},
): Promise<FleetConsole> {
  const place = {
    folder: bench.repository.dir,
    path: '.',
    weakCage: 'allow',
    ...defined({ git }),
  } as const
  const repository = hasRepository ? new ConsoleRepository(place) : undefined
  const running = await startConsole({
    clients: new Map([
      ['hub', bench.hub.client],
      ...[...bench.clusters.keys()].map((name) => [name, bench.client(name)] as const),
    ]),
    repository,
    page: NO_PAGE,
    version: '0.0.0',
    host: '127.0.0.1',
    port: 0,
    names: [],
    clock: systemClock,
    random: seededRandom(1),
    log,
  })
  const browser = new Browser(running.port)
  await browser.open(running.newLink())
  await eventually(
    () => browser.session(),
    ({ clusters }) =>
      clusters.length === bench.clusters.size + 1 && clusters.every(({ state }) => state === 'Connected'),
  )
  return { browser, repository, stop: () => running.stop() }
}
