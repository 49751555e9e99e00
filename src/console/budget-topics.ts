// The head and rows of the topic of budgets. Types only; times are milliseconds since 1970.
import type { ObjectName, Stamp } from './basics.ts'
import type { Approvable, HoldNote } from './topics.ts'

export interface BudgetsHead {
  /** Clock of the Defender; absent without a ledger. */
  readonly asOf?: Stamp
  readonly leader?: string
  /** On the whole cluster, as far as the reader may list holds: while one freezes it nothing is granted. */
  readonly holds?: readonly HoldNote[]
  /** No policy is declared: the built-in one decides. */
  readonly isBuiltIn: boolean
  readonly counts: {
    readonly granted: number
    readonly denied: number
    readonly succeeded: number
    readonly failed: number
  }
}

export type BudgetRow = LimitRow | BreakerRow | BlameRow | GrantRow | WaitingPermitRow | WindowRow

/** What is left of one budget or rate in one domain. */
export interface LimitRow {
  readonly id: string
  readonly row: 'Budget' | 'Rate' | 'HealthFloor'
  readonly policy: string
  /** `Audit` only reports. */
  readonly mode: 'Enforce' | 'Audit'
  readonly per: string
  /** Value of the domain; empty for the cluster. */
  readonly domain: string
  /** Of a budget: concurrent or unavailable. Of a rate: its window, such as 1h. */
  readonly of: string
  readonly limit: number
  readonly used: number
  readonly left: number
  /** As declared, such as 5%. */
  readonly declared: number | string
  /** Of a rate without room: when the next grant is possible. */
  readonly nextAt?: Stamp
}

export interface BreakerRow {
  readonly id: string
  readonly row: 'Breaker'
  readonly policy: string
  readonly state: 'Closed' | 'Open' | 'HalfOpen'
  readonly since: Stamp
  readonly failures: number
  /** The last results, newest last: s and f. */
  readonly results: string
}

export interface BlameRow {
  readonly id: string
  readonly row: 'Blame'
  readonly text: string
  readonly since: Stamp
  readonly failing: number
  readonly members: number
  readonly failingElsewhere: number
  readonly elsewhere: number
}

/** Who holds a slot. */
export interface GrantRow {
  readonly id: string
  readonly row: 'Grant'
  readonly permit: string
  readonly target: ObjectName
  readonly operations: readonly string[]
  readonly state: 'Held' | 'Orphaned'
  readonly since: Stamp
  readonly component?: string
  readonly zone?: string
  readonly rack?: string
  readonly pool?: string
}

/** A permit that is not granted yet, with the gates that shut it. */
export interface WaitingPermitRow {
  readonly id: string
  readonly row: 'Waiting'
  readonly object: ObjectName
  readonly operations: readonly string[]
  readonly targets: number
  readonly since?: Stamp
  readonly reason: string
  readonly gates: readonly {
    readonly gate: string
    readonly verdict: string
    readonly policy?: string
    /** What it found, with the limit and the policy. */
    readonly text: string
  }[]
  readonly approvals: readonly Approvable[]
}

export interface WindowRow {
  readonly id: string
  readonly row: 'Window'
  readonly policy: string
  readonly isOpen: boolean
  /** When it opens or shuts next; absent when that is unknown. */
  readonly changesAt?: Stamp
  readonly text: string
}
