// The inputs of one pass over a Release, and the current Releases of its track.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { chainOf, releasesIn } from '../release/chain.ts'
import { ofLiveClusters } from '../release/live-clusters.ts'
import type { HubCaches } from './shared.ts'

export interface Work {
  readonly release: Release
  readonly source: FleetSource
  /** The pipeline that applies to the Release. */
  readonly pipeline: Pick<ReleasePipeline, 'spec'>
  readonly signal: AbortSignal
  /** Clusters in which recoveries by its sets are exempt from budgets. */
  readonly budgetExempt?: ReadonlySet<string>
  /** A hold on the release or its source, from which it is not exempt. */
  readonly isHeld?: boolean
  /** The newest Release, where it has not begun: `release` is what a cluster has until then. With the commits after that. */
  readonly awaited?: { readonly release: Release; readonly later: ReadonlySet<string> }
}

/** The name of the Release that supersedes this one. Reads only the order of the Releases: cheap enough to ask before each write. */
export function newerThan({ releases }: Pick<HubCaches, 'releases'>, { metadata, spec }: Release): string | undefined {
  const newest = chainOf(releasesIn(releases.list(), metadata.namespace), spec).at(-1)?.metadata.name
  return newest === undefined || newest === metadata.name ? undefined : newest
}

/** The Releases of its track as last written. Read on demand, because others proceed while a cluster is being read. */
export const chainNow = (
  { releases, clusters }: Pick<HubCaches, 'releases' | 'clusters'>,
  { metadata, spec }: Release,
): readonly Release[] =>
  chainOf(releasesIn(releases.list(), metadata.namespace), spec).map((r) => ofClustersNow(clusters, r))

/** The same for one cluster: asked once for each of a thousand in every pass. */
export const chainAt = (
  { releases, clusters }: Pick<HubCaches, 'releases' | 'clusters'>,
  { metadata, spec }: Release,
  cluster: string,
): readonly Release[] =>
  chainOf(releasesIn(releases.list(), metadata.namespace), spec).map((r) => {
    const own = r.status?.clusters?.filter(({ name }) => name === cluster)
    return ofClustersNow(clusters, own === undefined ? r : { ...r, status: { ...r.status, clusters: own } })
  })

export const ofClustersNow = (clusters: HubCaches['clusters'], release: Release): Release =>
  ofLiveClusters(release, (name) => clusters.get({ namespace: release.metadata.namespace, name }))
