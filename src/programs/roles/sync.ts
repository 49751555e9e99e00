// The sync role: turns commits into objects in clusters.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { MIB } from '#lib/bytes.ts'
import { defined } from '#lib/defined.ts'
import { newsReader } from '#explain/release/news.ts'
import { VERSION } from '#lib/program-version.ts'
import { partsOf } from '#runtime/module.ts'
import { parseLocalRepositories } from '#sync/git/access.ts'
import { HooksServer } from '#sync/hooks/server.ts'
import { syncModule } from '#sync/role.ts'
import { clientOf } from '../run/connect.ts'
import type { RoleSetup } from '../run/role.ts'
import { apiServersOf, type RolesConfig } from './config.ts'

/** Of one cluster at a time, in a heap of 1 GiB. The objects of one kind of the largest clusters have some 100 MiB. */
const OF_CLUSTERS = { parsed: 16 * MIB, text: 16 * MIB, listed: 128 * MIB }

/** On every replica, because a Service may route to any of them. */
const hooksOf =
  (at: NonNullable<RolesConfig['hooks']>): NonNullable<RoleSetup['standing']> =>
  ({ client, informers, clock, log }) => {
    const server = new HooksServer({ ...at, client, sources: informers.of(fleetSource), clock, log })
    return Promise.resolve({ parts: [server], problem: () => undefined })
  }

export const syncRole = (config: RolesConfig): RoleSetup => ({
  ...(config.hooks !== undefined && { standing: hooksOf(config.hooks) }),
  setup(context) {
    const { client, informers, clock, random, log, metrics, supervision } = context
    const running = syncModule.setup({
      client,
      informers,
      clock,
      random,
      log,
      metrics,
      events: context.events('sync'),
      connect: (connection) => clientOf(connection, 'kubenode-sync', OF_CLUSTERS),
      hubAs: context.clientAs,
      news: newsReader,
      config: {
        cacheDir: config.cache,
        weakCage: config.weakCage,
        version: VERSION,
        ...(config.renderImage !== undefined && {
          jobs: {
            image: config.renderImage,
            version: VERSION,
            ...defined({ placement: config.renderPlacement }),
          },
        }),
        gitEnv: config.gitEnv,
        gitReach: { trusted: config.gitHosts, apiServers: apiServersOf(config) },
        maxRepositoryBytes: config.maxRepositoryBytes,
        localRepositories: config.localRepositories.map(parseLocalRepositories),
        ...defined({ rehearsal: config.rehearsal }),
        checks: { ...config.inspections, apiServers: apiServersOf(config) },
        ...defined({ outbound: config.outbound }),
      },
    })
    return partsOf(running, supervision)
  },
})
