// What a Release is planned from and what its plan is, and how far its status says that it has come. Pure.
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Exemption, RevertedBefore } from '../revert/policy.ts'
import type { ClusterStatus, SeenCluster } from './cluster-phase.ts'
import type { GateSight } from './stage-gates.ts'

export type StageStatus = NonNullable<ReleaseStatus['stages']>[number]

export interface ReleaseSeen {
  readonly release: Release
  readonly pipeline: ReleasePipelineSpec
  /** Clusters of the hub that the release has content for, by name. */
  readonly clusters: ReadonlyMap<string, SeenCluster>
  /** The name of the newer Release of the track, if there is one. */
  readonly newer: string | undefined
  /** Why a hold pauses it. */
  readonly paused: string | undefined
  /** What gates judge by. */
  readonly sight: GateSight
  /** UIDs of the holds that request a retry, at most as many as the status keeps. */
  readonly retries: readonly string[]
  /** Soaks that users end. */
  readonly promotions: readonly Promotion[]
  /** The commit of the newer Release, if that reverts this one. */
  readonly revertedBy?: string | undefined
  /** The same objects failed and were reverted. */
  readonly revertedBefore?: RevertedBefore | undefined
  /** By cluster, deletions above the guard that went ahead in this pass, and who approved them. */
  readonly deletions?: ReadonlyMap<string, NonNullable<NonNullable<ReleaseStatus['record']>[number]['deletions']>>
  /** What does not block a revert where it brings back what was healthy. */
  readonly exempt?: ReadonlySet<Exemption>
}

/** A user has seen enough of the soak that was in progress at that time; a later soak of the stage is none of it. */
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

/** A hold that is not in the status yet. */
export const isRetried = ({ release, retries }: Pick<ReleaseSeen, 'release' | 'retries'>): boolean =>
  retries.some((uid) => release.status?.retries?.includes(uid) !== true)

const OVER: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Reverted', 'Superseded'])

const OPEN_ENDS: ReadonlySet<string> = new Set(['Offline', 'Applying', 'Verifying'])

/** A Release that succeeded is not over while clusters that were offline are still to be caught up, or one that is in no stage yet may join. */
export const isOver = ({ status }: Pick<Release, 'status'>): boolean =>
  OVER.has(status?.phase ?? '') &&
  !(status?.phase === 'Succeeded' && (status.clusters ?? []).some((c) => OPEN_ENDS.has(c.phase) || isOutside(c)))

/** In no stage of a Release that succeeded: its Cluster is not on the hub, or has the labels of no stage. */
const isOutside = ({ phase }: ClusterStatus): boolean => phase === 'Waiting'

/** What is missing in a Release that succeeded is a person's: a Cluster, or its labels. */
export const hasOnlyOutside = ({ phase, clusters = [] }: ReleaseStatus): boolean =>
  phase === 'Succeeded' && !clusters.some((c) => OPEN_ENDS.has(c.phase))

/** Clusters that the plan must read; those to be applied are applied by it. */
export function openClusters({ status }: Pick<Release, 'status'>): readonly string[] {
  const finished = new Set((status?.stages ?? []).filter(isFinished).map((s) => s.name))
  return (status?.clusters ?? [])
    .filter((c) => c.phase !== 'Waiting' && (!finished.has(c.stage) || OPEN_ENDS.has(c.phase)))
    .map((c) => c.name)
}

export const isFinished = (stage: Pick<StageStatus, 'phase'> | undefined): boolean =>
  stage?.phase === 'Succeeded' || stage?.phase === 'Skipped'
