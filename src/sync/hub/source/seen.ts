// What a FleetSource is decided from: its commit, what that declares, and what of it was declared before.
import type { CommitTitle } from '#api/protocol/commit-title.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import type { RetiredTrack } from '../../release/retired-tracks.ts'
import type { Trust } from './trust-seen.ts'

/** A step towards the declared objects that could not be done, with the condition that says so. */
export interface Failure {
  readonly kind: 'Failed'
  readonly type: 'Fetched' | 'Rendered'
  readonly reason: string
  readonly message: string
}

export interface Commit {
  readonly id: string
  /** What it is called, for people. */
  readonly title?: CommitTitle
  /** The commit that its message says it reverts. */
  readonly revertOf?: string
  /** The commit that was followed before, and that this one does not contain. */
  readonly rewritten?: { readonly id: string; readonly title: CommitTitle }
  /** Digests of the plans that its message names; one, normally. */
  readonly plans?: readonly string[]
  /** What to know of its fetch while all is well. */
  readonly note?: string
}

/** What a commit declares. */
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
  /** What to know of it that keeps nothing from working. */
  readonly note?: string
  /** Tracks that the source no longer has, but that left objects. */
  readonly retired: readonly RetiredTrack[]
  /** Why they could not be read: what is known of them is not all. */
  readonly retiredUnread?: unknown
}

interface Lookup<T> {
  get(id: { readonly namespace: string; readonly name: string }): T | undefined
}

export interface Seen {
  readonly source: FleetSource
  /** Why a hold pauses it; nothing else was read then. */
  readonly paused?: string
  /** Whether the newest commit may be followed; absent where commits are not verified. */
  readonly trust?: Trust
  /** Fetched and verified, also where rendering failed. */
  readonly commit?: Commit
  readonly declared?: Declared | Failure
  /** Of its namespace. */
  readonly releases: readonly Release[]
  readonly pipelines: Lookup<ReleasePipeline>
  readonly clusters: Lookup<Cluster>
  /** Digests of approved deletions. */
  readonly approved: ReadonlySet<string>
  /** By source and track: the last completed state of the hub. */
  readonly hubDone: ReadonlyMap<string, HubDone>
  /** Tracks whose declarations for the hub wait for a stage of their pipeline. */
  readonly staged?: ReadonlySet<string>
}

export interface HubDone {
  readonly stamp: string
  /** Of a clock that is never set. */
  readonly at: number
}

/** How often the hub is compared with its commit, for changes by other clients. */
const REQUEUE_MS = 60_000

export const isHubDue = (last: HubDone | undefined, stamp: string, monotonic: number): boolean =>
  last?.stamp !== stamp || monotonic - last.at >= REQUEUE_MS
