// The heads and rows of the console's topics, without those of sets, of one node and of budgets. Types only; times are milliseconds since 1970.
import type { Lift, ObjectName, Stamp } from './basics.ts'

/** What something waits for, always with the same four parts. */
export interface Wait {
  /** One word, equal for the same cause. */
  readonly predicate: string
  readonly since?: Stamp
  readonly seen?: string
  readonly lift?: Lift
}

export interface HoldNote {
  readonly name: string
  readonly effect: string
  readonly author: string
  readonly reason: string
  readonly until: Stamp
}

/** Something that an Approval of this digest allows. */
export interface Approvable {
  readonly digest: string
  readonly text: string
}

// ---------------------------------------------------------------- home

export interface HomeHead {
  /** One sentence: whether anything needs attention. */
  readonly sentence: string
  readonly needsAttention: number
  readonly waits: number
  /** Clusters that are only partly read, or not yet. Above 0, nothing counts as healthy. */
  readonly unknown: number
  readonly clusters: { readonly total: number; readonly connected: number }
  readonly machines: { readonly total: number; readonly ready: number }
}

export interface AttentionRow {
  readonly id: string
  /** Equal for the same cause, across clusters too. */
  readonly cause: string
  readonly object: ObjectName
  /** `Act`: a user has to act. `Wait`: it continues by itself. `Unknown`: the reader may not, or cannot, read it. */
  readonly weight: 'Act' | 'Wait' | 'Unknown'
  /** Lower is worse. */
  readonly rank: number
  readonly text: string
  readonly since?: Stamp
  readonly lift?: Lift
  /** Path of its runbook in the repository. */
  readonly runbook?: string
  /** What it blocks elsewhere. */
  readonly holdsUp?: readonly string[]
  /** What happened, in a few words; `text` has the rest. */
  readonly title?: string
  /** The commit that brought it. Rows with the same one and the same weight are one card. */
  readonly commit?: { readonly commit: string; readonly subject?: string; readonly author?: string }
  /** What it stops, from the nearest to the furthest. */
  readonly stops?: readonly string[]
}

// ---------------------------------------------------------------- pipeline

export type PipelineRow = ReleaseRow | StageRow | PlaceRow

export interface ReleaseRow {
  readonly id: string
  readonly row: 'Release'
  readonly object: ObjectName
  readonly source: string
  readonly track: string
  readonly pipeline: string
  readonly commit: string
  readonly subject?: string
  readonly author?: string
  /** Phase of Release. */
  readonly phase: string
  /** The track has no newer Release. */
  readonly isNewest: boolean
  readonly startedAt?: Stamp
  readonly finishedAt?: Stamp
  readonly revertOf?: string
  /** Subject of the reverted commit, if its Release is kept. */
  readonly revertedSubject?: string
  readonly revertCommit?: string
  readonly wait?: Wait
  readonly holds: readonly HoldNote[]
  readonly approvals: readonly Approvable[]
  /** Who approved it, or the deletions that it made. */
  readonly approvedBy?: readonly string[]
}

export interface StageRow {
  readonly id: string
  readonly row: 'Stage'
  /** Id of the row of its Release. */
  readonly release: string
  readonly name: string
  /** From 0. */
  readonly order: number
  readonly phase: string
  readonly startedAt?: Stamp
  readonly finishedAt?: Stamp
  /** Start and end of the soak. */
  readonly soakFrom?: Stamp
  readonly soakUntil?: Stamp
  readonly healthy: number
  readonly failed: number
  readonly offline: number
  readonly total: number
  readonly gates: readonly GateNote[]
  readonly wait?: Wait
}

export interface GateNote {
  readonly name: string
  readonly when: 'Before' | 'During' | 'After'
  /** Phase of Gate. */
  readonly phase: string
  /** Its figure: how many of how many, and how many percent are needed. */
  readonly figure?: { readonly have: number; readonly of: number; readonly needed?: number }
  readonly since: Stamp
  /** The last observed value. */
  readonly seen?: string
}

/** One cluster in one Release. */
export interface PlaceRow {
  readonly id: string
  readonly row: 'Place'
  readonly release: string
  readonly stage: string
  readonly cluster: string
  /** Phase of ClusterRelease. */
  readonly phase: string
  readonly since: Stamp
  readonly message?: string
  readonly oldFailures: number
  readonly newFailures: number
  readonly wait?: Wait
}

// ---------------------------------------------------------------- clusters

export interface ClusterRow {
  readonly id: string
  readonly name: string
  /** The Cluster object on the hub; left out for a context without one. */
  readonly object?: ObjectName
  readonly state: 'Loading' | 'Connected' | 'Unreachable' | 'Refused'
  readonly message?: string
  readonly isHub: boolean
  readonly stage?: string
  /** Phase of Cluster. */
  readonly phase?: string
  readonly endpoint?: string
  /** Version of the API server. */
  readonly version?: string
  readonly versions: readonly { readonly part: string; readonly version: string }[]
  readonly history: readonly {
    readonly version: string
    readonly startedAt: Stamp
    readonly completedAt?: Stamp
    readonly snapshot?: string
    readonly message?: string
  }[]
  /** When sync's credentials for it expire. */
  readonly credentialsEnd?: Stamp
  /** Its keys and certificates in rotation, and what each rotation waits for. */
  readonly rotations: readonly { readonly name: string; readonly phase: string; readonly message: string }[]
  /** For a control plane on the hub. */
  readonly snapshots?: { readonly last?: Stamp; readonly next: Stamp; readonly message?: string }
  readonly machines: {
    readonly total: number
    readonly ready: number
    readonly silent: number
    readonly repairing: number
  }
  /** Home's findings: needing a user, waiting, and unknown. A cluster is known to be healthy only if all are 0. */
  readonly attention: { readonly act: number; readonly wait: number; readonly unknown: number }
  readonly lastSeen?: Stamp
  readonly wait?: Wait
}

// ---------------------------------------------------------------- commits

export interface CommitRow {
  readonly id: string
  readonly commit: string
  readonly subject?: string
  readonly author?: string
  readonly source: string
  readonly firstSeen?: Stamp
  readonly signer?: string
  readonly revertOf?: string
  /** Subject of the reverted commit, if its Release is kept. */
  readonly revertedSubject?: string
  /** This commit's Releases, one per track. */
  readonly releases: readonly {
    readonly object: ObjectName
    readonly track: string
    readonly phase: string
    /** How many clusters are in each ClusterRelease phase. */
    readonly clusters: Readonly<Record<string, number>>
  }[]
}

// ---------------------------------------------------------------- repairs

/** One repair. Repairs of one incident share `incident` and are ordered by rung and attempt. */
export interface RepairRow {
  readonly id: string
  readonly object: ObjectName
  readonly incident: string
  readonly node: string
  readonly machine?: string
  readonly rule: string
  readonly rung: number
  readonly attempt: number
  /** Phase of Job. */
  readonly phase: string
  /** Phase of Outcome, once it is done. */
  readonly outcome?: string
  readonly isDryRun: boolean
  readonly createdAt?: Stamp
  readonly startedAt?: Stamp
  readonly finishedAt?: Stamp
  readonly verifyUntil?: Stamp
  readonly permit?: string
  readonly message?: string
  readonly nextJob?: string
  /** The same rule already repaired this node within the last day. */
  readonly isRelapse: boolean
  readonly steps: readonly RepairStep[]
  readonly wait?: Wait
}

export interface RepairStep {
  readonly operation: string
  readonly executor: string
  readonly startedAt?: Stamp
  readonly finishedAt?: Stamp
  readonly outcome?: string
  readonly output?: string
}

// ---------------------------------------------------------------- maintenance

export interface MaintenanceRow {
  readonly id: string
  readonly object: ObjectName
  readonly machine: string
  readonly kind: string
  /** Phase of Maintenance. */
  readonly phase: string
  readonly source: string
  readonly description?: string
  readonly notBefore?: Stamp
  readonly notAfter?: Stamp
  readonly startAt?: Stamp
  readonly drainedAt?: Stamp
  readonly missedAt?: Stamp
  readonly endedAt?: Stamp
  readonly permit?: string
  readonly message?: string
  readonly wait?: Wait
}
