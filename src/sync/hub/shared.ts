// What the hub's loops share: what they read from it, and what renders, verifies and connects for all of them. A loop creates its own private memory itself.
import { approval, type Approval } from '#api/kinds/approval.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline, type ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { release, type Release } from '#api/kinds/release.ts'
import { createValidator } from '#api/validate.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { Connections, HubConnections, SECRET } from './connections.ts'
import type { SyncContext } from './context.ts'
import { PipelinesBefore } from './pipeline-before.ts'
import { rendererOf } from './renderer-of.ts'
import { Renders } from './renders.ts'
import { Verification } from './source/verified.ts'

export interface HubCaches {
  readonly sources: SharedInformer<FleetSource>
  readonly pipelines: SharedInformer<ReleasePipeline>
  readonly releases: SharedInformer<Release>
  readonly clusters: SharedInformer<Cluster>
  readonly holds: SharedInformer<OperationalHold>
  readonly approvals: SharedInformer<Approval>
}

export interface HubShared extends HubCaches {
  readonly context: SyncContext
  readonly renders: Renders
  readonly verification: Verification
  readonly pipelinesBefore: PipelinesBefore
  readonly connections: Connections
  /** The hub itself, as a target. With a user, objects are read and written as that user. */
  readonly hub: HubConnections
  /** Only one Release at a time changes a track's objects in a cluster: an old one that still applies must finish before a newer one starts. */
  readonly locks: KeyedLock
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
  }
  const renders = new Renders(config, clock, {
    readSecret: (namespace, name) => client.get(SECRET, { namespace, name }),
    makeRenderer: () => rendererOf(context),
  })
  return {
    ...caches,
    context,
    renders,
    verification: new Verification(clock, createValidator()),
    pipelinesBefore: new PipelinesBefore({ ...caches, renders }),
    connections: new Connections(context, (id) => caches.clusters.get(keyFrom(id)) !== undefined),
    hub: new HubConnections(context),
    locks: new KeyedLock({ what: 'applies of one track' }),
  }
}
