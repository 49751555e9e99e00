// The Defender's role: the webhook, which every replica serves, and the loop that decides permits, which the leader runs.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import type { Part } from '#runtime/manager.ts'
import type { ModuleContext, RunningModule } from '#runtime/module.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { BY_COMPONENT, componentKey, createCaches } from './caches.ts'
import { DefenderTime } from './defender-time.ts'
import { EndedHolds } from './ended-holds.ts'
import { createGuard } from './guard/guard.ts'
import { DefenderLoop } from './loop.ts'
import { createDefenderMetrics } from './metrics.ts'
import { PolicyKeeper } from './policy-keeper.ts'
import { WebhookRegistrar } from './webhook/registrar.ts'
import { type WebhookOptions, WebhookReplica } from './webhook/replica.ts'

export interface DefenderConfig {
  /** The name of the cluster, to ignore holds on other clusters. */
  readonly cluster?: string
  /** Unique to this process. Written into the ledger. */
  readonly identity: string
  /** On the hub, Clusters are targets too. */
  readonly withClusters?: boolean
  /** Where the API server reaches the webhook. Absent: no webhook is served. */
  readonly webhook?: WebhookOptions
  /** The admission policies that this release installs. The leader keeps them in place; without this it keeps none. */
  readonly policies?: readonly KubeObject[]
}

/** On every replica, leader or not. */
export interface StandingDefender {
  readonly parts: readonly Part[]
  /** Why this replica cannot answer reviews, or undefined. */
  readonly problem: () => string | undefined
}

/** Created once per process: the parts of every replica, and those of the leader. */
export function defenderModule(config: DefenderConfig) {
  const { cluster, identity, withClusters = false, webhook, policies = [] } = config
  let replica: WebhookReplica | undefined

  return {
    name: 'defender',

    /** Undefined without a webhook: a standby has nothing to do in that case. */
    standing:
      webhook &&
      (async (context: ModuleContext): Promise<StandingDefender> => {
        const { client, informers, clock, random, log } = context
        const caches = createCaches(informers, { withClusters })
        const serverNow = await serverClock(client, clock, log)
        const findComponent = (component: string, version: string) =>
          caches.components.byIndex(BY_COMPONENT, componentKey(component, version))[0]?.spec
        const findMachine = (name: string) => caches.machines.get({ name })
        // Counted in the ledger by compare-and-swap: concurrent answers of several replicas count one after another.
        const guard = createGuard({ client, caches, clock, random, time: new DefenderTime(clock, serverNow), identity })
        const served = new WebhookReplica({ ...webhook, client, clock, log, findComponent, findMachine, guard })
        replica = served
        return { parts: [served], problem: () => served.problem() }
      }),

    setup: async (context: ModuleContext): Promise<RunningModule> => {
      const { client, informers, clock, random, log, metrics } = context
      const caches = createCaches(informers, { withClusters })
      const serverNow = await serverClock(client, clock, log)
      const events = createEventRecorder({ client, clock, controller: 'kubenode.io/defender', instance: identity })
      const own = { client, informers, clock, log, events }
      const keeper: PolicyKeeper | undefined =
        policies.length === 0
          ? undefined
          : new PolicyKeeper({ ...own, shipped: policies, onAltered: () => loop.wake() })
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
        alteredPolicies: () => keeper?.altered,
      })
      const keepers = keeper === undefined ? [] : [keeper]
      const parts = [loop, new EndedHolds({ ...own, caches, serverNow }), ...keepers]
      if (webhook === undefined || replica === undefined) return { controllers: [], parts }
      const registrar = new WebhookRegistrar({ at: webhook.at, client, clock, log, events, replica })
      return { controllers: [], parts: [...parts, registrar] }
    },
  }
}

/** The API server's clock, read once and continued by our stopwatch. If the server sends no time, use our own clock. */
async function serverClock(client: KubeClient, clock: Clock, log: Logger): Promise<() => number | undefined> {
  const asked = clock.monotonic()
  try {
    const { headers } = await client.raw({ method: 'GET', path: '/version' })
    const serverTime = Date.parse(headers['date'] ?? '')
    if (!Number.isNaN(serverTime)) return () => serverTime + (clock.monotonic() - asked)
  } catch (e) {
    log.warn('cannot read the time of the API server', { error: messageOf(e) })
  }
  return () => undefined
}
