// The defender role: the loop that decides permits, and the webhook that admits our kinds. The calling program passes the context of a term.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import type { Module, ModuleContext, RunningModule } from '#runtime/module.ts'
import { BY_COMPONENT, componentKey, createCaches } from './caches.ts'
import { DefenderTime } from './defender-time.ts'
import { createGuard } from './guard/guard.ts'
import { DefenderLoop } from './loop.ts'
import { createDefenderMetrics } from './metrics.ts'
import { WebhookPart, type WebhookOptions } from './webhook/part.ts'

export interface DefenderConfig {
  /** The name of the cluster, to ignore holds on other clusters. */
  readonly cluster?: string
  /** Unique to this process; written into the ledger. */
  readonly identity: string
  /** Clusters are targets here: on the hub. */
  readonly withClusters?: boolean
  /** Where the API server reaches the webhook; without it none is served. */
  readonly webhook?: WebhookOptions
}

export const defenderModule = ({
  cluster,
  identity,
  withClusters = false,
  webhook,
}: DefenderConfig): Module<ModuleContext, Promise<RunningModule>> => ({
  name: 'defender',
  setup: async (context) => {
    const { client, informers, clock, random, log, metrics } = context
    const caches = createCaches(informers, { withClusters })
    const serverNow = await serverClock(client, clock, log)
    const loop = new DefenderLoop({
      client,
      caches,
      clock,
      random,
      log,
      identity,
      cluster,
      serverNow,
      metrics: createDefenderMetrics(metrics.registry),
    })
    if (webhook === undefined) return { controllers: [], parts: [loop] }
    const findComponent = (component: string, version: string) =>
      caches.components.byIndex(BY_COMPONENT, componentKey(component, version))[0]?.spec
    const guard = createGuard({
      client,
      caches,
      clock,
      random,
      time: new DefenderTime(clock, serverNow),
      identity,
    })
    const events = createEventRecorder({ client, clock, controller: 'kubenode.io/defender', instance: identity })
    const findMachine = (name: string) => caches.machines.get({ name })
    const served = new WebhookPart({ ...webhook, client, clock, log, events, findComponent, findMachine, guard })
    return { controllers: [], parts: [loop, served] }
  },
})

/** The API server's clock, read once and run on by our stopwatch. A server that tells no time leaves us with our own. */
async function serverClock(client: KubeClient, clock: Clock, log: Logger): Promise<() => number | undefined> {
  const asked = clock.monotonic()
  try {
    const { headers } = await client.raw({ method: 'GET', path: '/version' })
    const told = Date.parse(headers['date'] ?? '')
    if (!Number.isNaN(told)) return () => told + (clock.monotonic() - asked)
  } catch (e) {
    log.warn('cannot read the time of the API server', { error: messageOf(e) })
  }
  return () => undefined
}
