// What one pass knows about a cluster of a Release, and what decides its next phase. Types only.
import type { Baseline } from '#api/kinds/inventory.ts'
import type { ReleaseStatus } from '#api/kinds/release.ts'
import type { Failure } from '#delivery/failures.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import type { Taken } from '#runtime/background-reads.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'
import type { RecordedSwitches } from '../cluster/switches.ts'
import type { UnreachableReason } from '../cluster/unreachable.ts'
import type { Approver, ClusterReadings, Finding, Stage } from './gates.ts'
import type { Content } from './live-clusters.ts'
import type { Risk } from './risk.ts'
import type { Blocked } from './waiting.ts'

export type ClusterStatus = NonNullable<ReleaseStatus['clusters']>[number]

export interface SeenCluster {
  readonly name: string
  /** Absent when the hub no longer has this Cluster. */
  readonly labels: Readonly<Record<string, string>> | undefined
  /** The stage that it stays in, because the release changes its Cluster there. */
  readonly stage?: string | undefined
  /** Absent for the hub itself. */
  readonly content?: Content | undefined
  readonly digest: string
  /** The commit removes its Cluster. Nothing in the cluster is read or judged any more. */
  readonly isLeaving?: boolean
  /** The Cluster is being deleted: if it is recreated, it has none of its earlier content. */
  readonly isDeleting?: boolean
  /** The release is a revert to content that was healthy there: no soak, no small steps. */
  readonly isReturn?: boolean
  /** The release restores what passed there last, while other content is still being rolled out. Its message need not name a revert. */
  readonly isUnderway?: boolean
  /** Differences between its Cluster on the hub and the declared one that need an Approval first. */
  readonly risks?: readonly Risk[]
  /** The result of the last pass; absent before the first. */
  readonly answer?: ClusterAnswer | undefined
  /** The cluster's content from previous releases, if it passed its stage. */
  readonly previous?: { readonly digest: string; readonly healthySince: string } | undefined
  /** An earlier Release finished the cluster's stage with this content, where it may have been skipped or failed. */
  readonly wasPassed?: boolean
  /** Milliseconds of the soak with this content in a Release that was superseded in the middle of it. */
  readonly soaked?: number
}

export type ClusterAnswer =
  | { readonly kind: 'Unreachable'; readonly because: UnreachableReason; readonly message: string }
  | {
      readonly kind: 'Seen'
      /** The report is about its Cluster on the hub: nothing in the cluster was read yet. */
      readonly isOfPlane?: true
      /** The objects of this release are applied. */
      readonly isApplied: boolean
      readonly failures: readonly string[]
      /** Unhealthy objects, whether or not this release caused it. */
      readonly failing: readonly Failure[]
      /** The number of machines, for limits in percent. */
      readonly machines: number
      /** What was failing before this release; absent: no earlier failures are known. */
      readonly baseline: Baseline | undefined
      readonly readings: ClusterReadings
      /** Deletions that wait for an Approval. */
      readonly prune?: WaitingPrune | undefined
      /** How long switches took recently, from its sets. */
      readonly switches?: readonly RecordedSwitches[]
    }

/** Approved deletions wait for the hub's Defender; the permit is named. */
export type WaitingPrune = HeldPrune & {
  readonly waits?: { readonly permit?: string; readonly seen: string; readonly unblock: string }
}

export interface AdvanceInput {
  readonly stage: Stage
  readonly member: SeenCluster
  readonly before: ClusterStatus | undefined
  readonly now: number
  /** The stage has room for another cluster. */
  readonly mayStart: boolean
  /** Why the stage may not start any cluster. */
  readonly blocked: Blocked | undefined
  readonly approvedBy: readonly Approver[]
  /** Answers of other systems, by gate. */
  readonly checks: ReadonlyMap<string, Taken<CheckResult>>
  /** Gates whose query to another system has no answer yet. */
  readonly pending: ReadonlySet<string>
  /** Results of custom rules here, by gate. */
  readonly rules: ReadonlyMap<string, Finding>
  /** A user requests a retry of the failed work. */
  readonly isRetried: boolean
  /** The release's name, for commands. */
  readonly release: string
}
