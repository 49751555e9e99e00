// The inputs for a FleetSource's decisions: its commit, what the commit declares, and what earlier commits declared.
import type { CommitTitle } from '#api/protocol/commit-title.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import type { RetiredTrack } from '../../release/retired-tracks.ts'
import type { Trust } from './trust-seen.ts'

/** A failed step on the way to the declared objects, with the condition that reports it. */
export interface Failure {
  readonly kind: 'Failed'
  readonly type: 'Fetched' | 'Rendered'
  readonly reason: string
  readonly message: string
}

export interface Commit {
  readonly id: string
  /** Title for users. */
  readonly title?: CommitTitle
  readonly parents?: readonly string[]
  /** The commit that it reverts, according to its message. */
  readonly revertOf?: string
  /** The previously followed commit, if this one does not contain it. */
  readonly rewritten?: { readonly id: string; readonly title: CommitTitle }
  /** Digests of the plans in its message; normally one. */
  readonly plans?: readonly string[]
  /** Note about a successful fetch. */
  readonly note?: string
}

export interface Declared {
  readonly kind: 'Declared'
  readonly commit: Commit
  /** By track, then by target. */
  readonly tracks: ReadonlyMap<string, Targets>
  /** The combined declarations of all tracks for the hub. */
  readonly hub?: RenderedTarget
  readonly targets: number
  readonly objects: number
  /** Objects that are not used, and why. */
  readonly problems: readonly string[]
  readonly isCageWeak: boolean
  /** Note about something that blocks nothing. */
  readonly note?: string
  /** Tracks that the source dropped, but that left objects. */
  readonly retired: readonly RetiredTrack[]
  /** Why they could not be read: the list may be incomplete. */
  readonly retiredUnread?: unknown
}

interface Lookup<T> {
  get(id: { readonly namespace: string; readonly name: string }): T | undefined
}

export interface Seen {
  readonly source: FleetSource
  /** Why a hold pauses the source; nothing else was read then. */
  readonly paused?: string
  /** Whether the newest commit may be followed; absent where commits are not verified. */
  readonly trust?: Trust
  /** Fetched and verified, even if rendering failed. */
  readonly commit?: Commit
  readonly declared?: Declared | Failure
  /** Releases in its namespace. */
  readonly releases: readonly Release[]
  readonly pipelines: Lookup<ReleasePipeline>
  readonly clusters: Lookup<Cluster>
  /** Digests of approved deletions, with the users who approved them. */
  readonly approved: ReadonlyMap<string, ReadonlySet<string>>
  /** By source and track: the last completed state of the hub. */
  readonly hubDone: ReadonlyMap<string, HubDone>
  /** Tracks whose objects for the hub wait for a stage of their pipeline. */
  readonly staged?: ReadonlySet<string>
}

export interface HubDone {
  readonly stamp: string
  /** Monotonic time. */
  readonly at: number
}

/** How often the hub is compared with its commit, to find changes by other clients. */
const REQUEUE_MS = 60_000

export const isHubDue = (last: HubDone | undefined, stamp: string, monotonic: number): boolean =>
  last?.stamp !== stamp || monotonic - last.at >= REQUEUE_MS
