// The input of an upgrade decision: what runs, what was requested, and the record of the upgrade in progress. Plain data.
import type { Part } from '#api/constructs/control-plane/settings.ts'
import type { Acceptable } from '#api/kinds/cluster.ts'

/** A program's version, and the minor whose behavior it keeps. etcd emulates nothing: its minor is its own. */
export interface Form {
  readonly version: string
  readonly emulates: number
}

interface PartSeen {
  /** What its workload requests. */
  readonly wanted: Form
  /** The running forms, each once; several during a roll. */
  readonly running: readonly Form[]
  /** All instances run the desired form and serve. */
  readonly isReady: boolean
  /** Since when it has not been ready. */
  readonly unreadySince?: number
}

export interface Snapshot {
  readonly name: string
  readonly takenAt: number
  /** It was opened and counted; an unverified snapshot is worthless. */
  readonly isOpened: boolean
  /** The version that ran when it was taken. */
  readonly version: string
}

/** Kept in the Cluster's status, and written before the step it describes. */
export interface UpgradeRecord {
  readonly from: string
  readonly to: string
  readonly begunAt: number
  /** Since when everything has been running the new programs with the old behavior. */
  readonly soakSince?: number
  /** From here on, the way back is a restore of this snapshot. */
  readonly edge?: { readonly at: number; readonly snapshot: string }
  /** Why the old programs return. A failed version is not retried until a user requests it. */
  readonly goingBack?: { readonly why: string; readonly hasFailed: boolean }
  /** An approved restore that has started. */
  readonly restoring?: { readonly snapshot: string; readonly at: number }
}

/** A failed reading blocks. */
export type Reading<T> = { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string }

/** Read from the cluster before an upgrade starts. */
export interface ClusterReadiness {
  /** Oldest and newest kubelet; undefined without nodes. */
  readonly kubelets: Reading<{ readonly oldest: string; readonly newest: string } | undefined>
  readonly unreadyNodes: Reading<{ readonly total: number; readonly names: readonly string[] }>
  /** PodDisruptionBudgets that allow no eviction now. */
  readonly blockingBudgets: Reading<readonly string[]>
  /** Webhooks that fail closed and do not answer now. */
  readonly deafWebhooks: Reading<readonly string[]>
}

/** Checked before an upgrade starts. */
export interface Readiness extends ClusterReadiness {
  /** Resources that clients use and the new minor no longer serves. */
  readonly removedApisInUse: Reading<readonly string[]>
  /** Addons that are not tested with the new minor. */
  readonly unfitAddons: Reading<readonly string[]>
  readonly etcd: Reading<{ readonly isHealthy: boolean; readonly usedOfQuota: number }>
  /** Why the hub has no room for one more API server; undefined if it has. */
  readonly surgeTrouble: Reading<string | undefined>
}

/** A version that failed here: refused until the Cluster requests another one, or a Retry hold names it. */
export interface BlockedVersion {
  readonly version: string
  readonly why: string
}

export interface UpgradeSeen {
  readonly parts: Readonly<Record<Part, PartSeen>>
  readonly record: UpgradeRecord | undefined
  readonly readiness: Readiness
  readonly snapshots: readonly Snapshot[]
  /** Why the last snapshot failed: the snapshot before the one-way step would fail too. */
  readonly snapshotTrouble?: string
  /** Name of the snapshot whose restore a user approved. */
  readonly approvedRestore: string | undefined
  /** Another operation uses the control plane: a restore, a member's replacement, the deletion. */
  readonly busyWith: string | undefined
  readonly blocked: readonly BlockedVersion[]
}

export interface UpgradeRequest {
  readonly version: string
  /** Walks skipped minors one by one. */
  readonly walksMinors: boolean
  readonly soakMs: number
  /** Checks whose problems the commit accepts. */
  readonly accepts?: readonly Acceptable[]
}
