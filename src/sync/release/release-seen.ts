// The inputs of a Release's plan, the plan itself, and how far its status has come. Pure.
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Exemption, RevertedBefore } from '../revert/policy.ts'
import type { ClusterStatus, SeenCluster } from './cluster-seen.ts'
import type { GateSight } from './stage-gates.ts'

export type StageStatus = NonNullable<ReleaseStatus['stages']>[number]

export interface ReleaseSeen {
  readonly release: Release
  readonly pipeline: ReleasePipelineSpec
  /** Clusters on the hub that the release has content for, by name. */
  readonly clusters: ReadonlyMap<string, SeenCluster>
  /** The name of the newer Release of the track, if there is one. */
  readonly newer: string | undefined
  readonly paused: string | undefined
  /** Inputs for judging gates. */
  readonly sight: GateSight
  /** UIDs of the holds that request a retry, at most as many as the status keeps. */
  readonly retries: readonly string[]
  /** Soaks that users end early. */
  readonly promotions: readonly Promotion[]
  /** The commit of the newer Release, if it reverts this one. */
  readonly revertedBy?: string | undefined
  /** What reverts go back to, where that is known. */
  readonly reached?: string | undefined
  /** The same objects failed and were reverted earlier. */
  readonly revertedBefore?: RevertedBefore | undefined
  /** By cluster: deletions above the guard that were carried out in this pass, and who approved them. */
  readonly deletions?: ReadonlyMap<string, NonNullable<NonNullable<ReleaseStatus['record']>[number]['deletions']>>
  /** Why the fleet brake keeps this cluster from starting; undefined if it does not. */
  readonly braked?: (cluster: string) => Braked | undefined
  /** What does not block a revert where it restores healthy content. */
  readonly exempt?: ReadonlySet<Exemption>
}

/** The cluster has no turn, or the commit introduced a stopped version. */
export interface Braked {
  readonly predicate: 'FleetBudget' | 'FleetStopped'
  readonly seen: string
  readonly unblock: string
}

/** A user ends the soak that was in progress at that time; a later soak of the stage is not affected. */
export interface Promotion {
  readonly stage: string
  readonly at: number
}

export interface ReleasePlan {
  readonly status: ReleaseStatus
  readonly isOver: boolean
  /** Milliseconds until the next pass, even without an event. */
  readonly requeueAfter?: number
}

/** The hold is not in the status yet. */
export const isRetried = ({ release, retries }: Pick<ReleaseSeen, 'release' | 'retries'>): boolean =>
  retries.some((uid) => release.status?.retries?.includes(uid) !== true)

const OVER: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Reverted', 'Superseded'])

const OPEN_ENDS: ReadonlySet<string> = new Set(['Offline', 'Applying', 'Verifying'])

/** A successful Release is not over while offline clusters still have to catch up, or a cluster without a stage may still join. */
export const isOver = ({ status }: Pick<Release, 'status'>): boolean =>
  OVER.has(status?.phase ?? '') &&
  !(status?.phase === 'Succeeded' && (status.clusters ?? []).some((c) => OPEN_ENDS.has(c.phase) || isOutside(c)))

/** Not in any stage of a successful Release: its Cluster is not on the hub, or has no stage's labels. */
const isOutside = ({ phase }: ClusterStatus): boolean => phase === 'Waiting'

/** What a successful Release still lacks is up to a user: a Cluster, or its labels. */
export const hasOnlyOutside = ({ phase, clusters = [] }: ReleaseStatus): boolean =>
  phase === 'Succeeded' && !clusters.some((c) => OPEN_ENDS.has(c.phase))

/** Clusters that the plan must read; applying to a cluster also reads it. */
export function openClusters({ status }: Pick<Release, 'status'>): readonly string[] {
  const finished = new Set((status?.stages ?? []).filter(isFinished).map((s) => s.name))
  return (status?.clusters ?? [])
    .filter((c) => c.phase !== 'Waiting' && (!finished.has(c.stage) || OPEN_ENDS.has(c.phase)))
    .map((c) => c.name)
}

export const isFinished = (stage: Pick<StageStatus, 'phase'> | undefined): boolean =>
  stage?.phase === 'Succeeded' || stage?.phase === 'Skipped'
