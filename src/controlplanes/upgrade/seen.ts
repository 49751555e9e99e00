// What an upgrade is decided from: what runs, what was asked for, and the record of the upgrade that is under way. Plain data.
import type { Part } from '#api/constructs/control-plane/settings.ts'

/** One way in which a program runs: its version, and the minor whose behavior it keeps. etcd emulates nothing: its minor is its own. */
export interface Form {
  readonly version: string
  readonly emulates: number
}

interface PartSeen {
  /** What its workload asks for. */
  readonly wanted: Form
  /** What runs, each form once; more than one while it rolls. */
  readonly running: readonly Form[]
  /** All instances run what is wanted and serve. */
  readonly isReady: boolean
  /** Since when it has not been ready. */
  readonly unreadySince?: number
}

export interface Snapshot {
  readonly name: string
  readonly takenAt: number
  /** It was opened and counted; unverified ones are worth nothing. */
  readonly isOpened: boolean
  /** The version that ran when it was taken. */
  readonly version: string
}

/** Kept in the status of the Cluster, and written before what it says is done. */
export interface UpgradeRecord {
  readonly from: string
  readonly to: string
  readonly begunAt: number
  /** Since when everything runs the new programs with the old behavior. */
  readonly soakSince?: number
  /** From here on, the way back is a restore of this snapshot. */
  readonly edge?: { readonly at: number; readonly snapshot: string }
  /** Why the old programs return; a version that failed is not tried again until a user asks for it. */
  readonly goingBack?: { readonly why: string; readonly hasFailed: boolean }
  /** A restore that was approved and begun. */
  readonly restoring?: { readonly snapshot: string; readonly at: number }
}

/** A reading that could not be made blocks. */
export type Reading<T> = { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string }

/** What is asked before anything begins. */
export interface Readiness {
  /** Oldest and newest kubelet; undefined without nodes. */
  readonly kubelets: Reading<{ readonly oldest: string; readonly newest: string } | undefined>
  /** Resources that clients use and that the new minor no longer serves. */
  readonly removedApisInUse: Reading<readonly string[]>
  /** Webhooks that fail closed and do not answer now. */
  readonly deafWebhooks: Reading<readonly string[]>
  /** Addons that are not tested with the new minor. */
  readonly unfitAddons: Reading<readonly string[]>
  readonly etcd: Reading<{ readonly isHealthy: boolean; readonly usedOfQuota: number }>
  /** Why the hub has no place for one API server more; undefined when it has. */
  readonly surgeTrouble: Reading<string | undefined>
}

/** A version that failed here: refused until the Cluster asks for another one, or a Retry hold names it. */
export interface BlockedVersion {
  readonly version: string
  readonly why: string
}

export interface UpgradeSeen {
  readonly parts: Readonly<Record<Part, PartSeen>>
  readonly record: UpgradeRecord | undefined
  readonly readiness: Readiness
  readonly snapshots: readonly Snapshot[]
  /** Name of the snapshot whose restore a person approved. */
  readonly approvedRestore: string | undefined
  /** Something else has the control plane: a restore, a member's replacement, the deletion. */
  readonly busyWith: string | undefined
  readonly blocked: readonly BlockedVersion[]
}

export interface UpgradeRequest {
  readonly version: string
  /** Minors in between are walked one by one. */
  readonly walksMinors: boolean
  readonly soakMs: number
}
