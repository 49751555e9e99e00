// What a role is to `kubenode run`: a leader of its own, caches of its own, and loops that start once it leads.
import { hostname } from 'node:os'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import type { EventRecorder } from '#kube/events.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { fencedClient } from '#runtime/fenced-client.ts'
import { Health } from '#runtime/health.ts'
import { StatusHttp } from '#runtime/http.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Informers } from '#runtime/informers.ts'
import type { LeaderTimes } from '#runtime/leader.ts'
import { LeaderElection } from '#runtime/leader.ts'
import { Manager } from '#runtime/manager.ts'
import type { Ended, Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import { supervise } from '#runtime/supervision.ts'
import type { Supervision } from '#runtime/supervision.ts'

/** What a role is handed once it leads. */
export interface RoleContext {
  /** Fenced: writes end with the term. */
  readonly client: KubeClient
  /** For heartbeats and reads that nothing may hold up. */
  readonly plainClient: KubeClient
  readonly informers: Informers
  readonly clock: typeof systemClock
  readonly random: typeof systemRandom
  readonly log: Logger
  readonly metrics: RuntimeMetrics
  readonly supervision: Supervision
  readonly events: (name: string) => EventRecorder
}

export interface Role {
  readonly name: string
  /** Asks for caches and makes loops; starts nothing. */
  setup(context: RoleContext): Promise<readonly Part[]> | readonly Part[]
}

export interface RunRoleOptions {
  readonly client: KubeClient
  /** A connection of its own for the lease. */
  readonly leaseClient: KubeClient
  readonly log: Logger
  readonly metricsPort: number
  readonly leaderTimes?: LeaderTimes
  readonly signal: AbortSignal
}

/** Runs one role until the signal aborts or it no longer leads. */
export async function runRole(role: Role, options: RunRoleOptions): Promise<Ended> {
  const { client, leaseClient, metricsPort, signal, leaderTimes } = options
  const log = options.log.with({ role: role.name })
  const clock = systemClock
  const random = systemRandom
  const metrics = createMetrics({ process: true })
  const health = new Health()
  const supervision = supervise({ clock, log, health, metrics })
  const instance = `${hostname()}-${process.pid}`
  const informers = createInformers({ client, clock, random, log, startSpreadMs: 0 })
  const http = new StatusHttp({ health, metrics: metrics.registry, port: metricsPort })

  const manager = new Manager({
    clock,
    log,
    http: [http],
    election: supervision.election(
      (events) =>
        new LeaderElection({
          client: leaseClient,
          clock,
          random,
          log,
          lease: { namespace: SYSTEM_NAMESPACE, name: `kubenode-${role.name}` },
          identity: `${instance}-${random.below(2 ** 32).toString(36)}`,
          ...(leaderTimes === undefined ? {} : { times: leaderTimes }),
          ...events,
        }),
    ),
    controllers: (leader) => [
      {
        name: role.name,
        start: async (begin) => {
          const fenced = fencedClient(client, leader)
          const parts = await role.setup({
            client: fenced,
            plainClient: client,
            informers,
            clock,
            random,
            log,
            metrics,
            supervision,
            events: (name) =>
              createEventRecorder({ client: fenced, clock, controller: `kubenode.io/${name}`, instance }),
          })
          informers.start()
          await informers.synced(begin)
          for (const part of parts) await part.start(begin)
          running.push(...parts)
          log.info('role runs', { caches: informers.all().length, parts: parts.length })
        },
        stop: async (withinMs) => {
          for (const part of running.toReversed()) await part.stop(withinMs)
          await informers.stop()
        },
      },
    ],
  })
  const running: Part[] = []
  return manager.run(signal)
}
