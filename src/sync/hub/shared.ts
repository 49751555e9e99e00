// What the hub's loops share: what they read from it, and what renders, verifies and connects for all of them. A loop creates its own private memory itself.
import { approval, type Approval } from '#api/kinds/approval.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy, type DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline, type ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { release, type Release } from '#api/kinds/release.ts'
import { createValidator } from '#api/validate.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { BrakeBook } from '../brake/book.ts'
import { Connections, HubConnections, SECRET } from './connections.ts'
import type { SyncContext } from './context.ts'
import { PipelinesBefore } from './pipeline-before.ts'
import { Renders } from './renders.ts'
import { Verification } from './source/verified.ts'
import type { Random } from '#lib/random.ts'
import { CAGE_LEVELS, findCage } from '../render/cage.ts'
import { JobRenderer } from '../render/job/job-renderer.ts'
import { processRenderer, type Renderer } from '../render/renderer.ts'

export interface HubCaches {
  readonly sources: SharedInformer<FleetSource>
  readonly pipelines: SharedInformer<ReleasePipeline>
  readonly releases: SharedInformer<Release>
  readonly clusters: SharedInformer<Cluster>
  readonly holds: SharedInformer<OperationalHold>
  readonly approvals: SharedInformer<Approval>
  readonly policies: SharedInformer<DefenderPolicy>
}

export interface HubShared extends HubCaches {
  readonly context: SyncContext
  /** Stops for all clusters, and the clusters that may change now. */
  readonly brake: BrakeBook
  readonly renders: Renders
  readonly verification: Verification
  readonly pipelinesBefore: PipelinesBefore
  readonly connections: Connections
  /** The hub itself, as a target. With a user, objects are read and written as that user. */
  readonly hub: HubConnections
  /** Only one Release at a time changes a track's objects in a cluster: an old one that still applies must finish before a newer one starts. */
  readonly locks: KeyedLock
}

const RUN_DIGITS = 16

/** Part of object names; not a secret. */
const newRun = (random: Random): string =>
  Array.from({ length: RUN_DIGITS }, () => random.below(16).toString(16)).join('')

/** Where this sync renders, by its configuration. */
async function rendererOf({ client, clock, log, random, config }: SyncContext): Promise<Renderer> {
  const { weakCage, caged, jobs, renderer: given } = config
  if (given !== undefined) return given
  if (jobs === undefined) return processRenderer(await findCage(weakCage, CAGE_LEVELS, caged))
  const renderer = new JobRenderer({ client, clock, log, ...jobs, newRun: () => newRun(random) })
  await renderer.sweep()
  return renderer
}

export function hubShared(context: SyncContext): HubShared {
  const { informers, clock, client, config } = context
  const caches: HubCaches = {
    sources: informers.of(fleetSource),
    pipelines: informers.of(releasePipeline),
    releases: informers.of(release),
    clusters: informers.of(cluster),
    holds: informers.of(operationalHold),
    approvals: informers.of(approval),
    policies: informers.of(defenderPolicy),
  }
  const renders = new Renders(config, clock, {
    readSecret: (namespace, name) => client.get(SECRET, { namespace, name }),
    makeRenderer: () => rendererOf(context),
  })
  return {
    ...caches,
    brake: new BrakeBook({ context, ...caches }),
    context,
    renders,
    verification: new Verification(clock, createValidator()),
    pipelinesBefore: new PipelinesBefore({ ...caches, renders }),
    connections: new Connections(context, (id) => caches.clusters.get(keyFrom(id)) !== undefined),
    hub: new HubConnections(context),
    locks: new KeyedLock({ what: 'applies of one track' }),
  }
}
