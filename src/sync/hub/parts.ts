// What the loops of the hub share: caches, rendered commits, connections, locks. Made once, passed to both.
import { KeyedLock } from '#lib/keyed-lock.ts'
import { approval, type Approval } from '#api/kinds/approval.ts'
import { cluster, type Cluster } from '#api/kinds/cluster.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline, type ReleasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { MAX_RETRIES, release, type Release } from '#api/kinds/release.ts'
import { sourceUser, LABELS } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import { holdOver, holdsOver, thing } from '#permits/holds/reach.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Approver } from '../release/gates.ts'
import type { Promotion } from '../release/release-seen.ts'
import { Connections, HubConnections, SECRET } from './connections.ts'
import type { SyncContext } from './context.ts'
import { GateReads } from './gate-reads.ts'
import { rendererOf } from './renderer-of.ts'
import { keyParts } from './keys.ts'
import { MachineCounts } from './machine-counts.ts'
import { createTrustMetrics, type TrustMetrics } from './metrics.ts'
import { Renders } from './renders.ts'
import { Verification } from './source/verified.ts'

/** A pipeline as the commit of a Release found it, and as the commit declares it. */
export interface PipelinesOf {
  readonly before: ReleasePipelineSpec | undefined
  readonly own: ReleasePipelineSpec | undefined
  /** Labels of the Clusters that were declared before, by name. */
  readonly labels: LabelsByCluster
}

export type LabelsByCluster = ReadonlyMap<string, Readonly<Record<string, string>>>

/** The spec has the stage as a field; selectors of stages use labels. */
export const labelsOfCluster = ({
  metadata,
  spec,
}: Pick<Cluster, 'metadata' | 'spec'>): Readonly<Record<string, string>> => ({
  ...(spec.stage === undefined ? {} : { [LABELS.stage]: spec.stage }),
  ...metadata.labels,
})

export interface HubParts {
  readonly context: SyncContext
  readonly sources: SharedInformer<FleetSource>
  readonly pipelines: SharedInformer<ReleasePipeline>
  readonly releases: SharedInformer<Release>
  readonly clusters: SharedInformer<Cluster>
  readonly holds: SharedInformer<OperationalHold>
  readonly approvals: SharedInformer<Approval>
  readonly renders: Renders
  readonly verification: Verification
  readonly trustMetrics: TrustMetrics
  readonly connections: Connections
  readonly machineCounts: MachineCounts
  /** One Release at a time changes a track's objects in a cluster: an old one that still applies must finish before a newer one begins. */
  readonly locks: KeyedLock
  /** By uid of an open Release. */
  readonly pipelinesBefore: Map<string, PipelinesOf>
  /** By uid of a Release that succeeded and is open: when its settled clusters were last compared with it. */
  readonly driftLooks: Map<string, number>
  /** By key of a Release: the clusters that its last pass had no time for. */
  readonly passLeft: Map<string, readonly string[]>
  /** What gates ask other systems and clusters. */
  readonly gateReads: GateReads
  /** By source and track: the last completed state of the hub. */
  readonly hubDone: Map<string, { readonly stamp: string; readonly at: number }>
  /** The hub itself, as a target; with a user, objects are read and written as that user. */
  readonly hub: HubConnections
}

/** `wakeRelease` is called with the key of a Release for which something new was read. */
export function hubParts(context: SyncContext, wakeRelease: (key: string) => void = () => undefined): HubParts {
  const { informers, clock } = context
  const clusters = informers.of(cluster)
  return {
    context,
    sources: informers.of(fleetSource),
    pipelines: informers.of(releasePipeline),
    releases: informers.of(release),
    clusters,
    holds: informers.of(operationalHold),
    approvals: informers.of(approval),
    verification: new Verification(clock, createValidator()),
    trustMetrics: createTrustMetrics(context.metrics),
    renders: new Renders(context.config, clock, {
      readSecret: (namespace, name) => context.client.get(SECRET, { namespace, name }),
      makeRenderer: () => rendererOf(context),
    }),
    connections: new Connections(context, (id) => clusters.get(keyParts(id)) !== undefined),
    machineCounts: new MachineCounts(clock, context.random),
    locks: new KeyedLock({ what: 'applies of one track' }),
    pipelinesBefore: new Map(),
    driftLooks: new Map(),
    passLeft: new Map(),
    gateReads: new GateReads(context, wakeRelease),
    hubDone: new Map(),
    hub: new HubConnections(context),
  }
}

/** The user that sync acts as for the source; undefined: itself, for the source of a fleet that has but one. */
export const actingUser = ({ metadata: { namespace = '', name = '' }, spec }: FleetSource): string | undefined =>
  spec.writes === undefined ? undefined : sourceUser(namespace, name)

export const releasesIn = (
  { releases }: Pick<HubParts, 'releases'>,
  namespace: string | undefined,
): readonly Release[] => releases.list().filter((r) => r.metadata.namespace === namespace)

/** UIDs of the newest holds that request a retry of a Release. */
export function retriesOf({ holds }: Pick<HubParts, 'holds'>, object: Release, now: number): readonly string[] {
  const age = ({ metadata }: OperationalHold) => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`
  return holdsOver(holds.list(), { effects: ['Retry'], things: [thing(object.kind, object)], now })
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1))
    .slice(-MAX_RETRIES)
    .flatMap(({ metadata }) => metadata.uid ?? [])
}

/** Soaks of a Release that users end. */
export function promotionsOf({ holds }: Pick<HubParts, 'holds'>, object: Release, now: number): readonly Promotion[] {
  const question = { effects: ['Promote'], things: [thing(object.kind, object)], now } as const
  return holdsOver(holds.list(), question).flatMap(({ metadata, spec }) => {
    const at = Date.parse(metadata.creationTimestamp ?? '')
    return spec.to === undefined || Number.isNaN(at) ? [] : [{ stage: spec.to, at }]
  })
}

/** Why a hold pauses the object; undefined when none does. */
export function pausedBy(
  parts: Pick<HubParts, 'holds'>,
  object: KubeObject,
  now: number,
  effects: readonly ('Pause' | 'Freeze')[] = ['Pause', 'Freeze'],
): string | undefined {
  const question = { effects, things: [thing(object.kind, object)], now }
  const found = holdOver(parts.holds.list(), question)
  return found === undefined
    ? undefined
    : `${found.spec.author} holds it until ${found.spec.until}: ${found.spec.reason}`
}

/** Approved digests that are still valid, with their approvers. */
export function approvedDigests(
  { approvals }: Pick<HubParts, 'approvals'>,
  now: number,
): ReadonlyMap<string, readonly Approver[]> {
  const live = approvals.list().filter(({ spec }) => spec.until === undefined || Date.parse(spec.until) > now)
  return new Map(
    [...Map.groupBy(live, ({ spec }) => spec.digest)].map(([digest, all]) => [
      digest,
      all.map(({ spec: { by, groups = [] } }) => ({ by, groups })),
    ]),
  )
}

/** By digest, the users alone: signers of commits are no groups. */
export const approvingUsers = (
  parts: Pick<HubParts, 'approvals'>,
  now: number,
): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map([...approvedDigests(parts, now)].map(([digest, all]) => [digest, new Set(all.map((a) => a.by))]))
