// The head and rows of the budgets topic. Types only; times are milliseconds since 1970.
import type { ObjectName, Stamp } from './basics.ts'
import type { Approvable, HoldNote } from './topics.ts'

export interface BudgetsHead {
  /** The Defender's clock; left out without a ledger. */
  readonly asOf?: Stamp
  readonly leader?: string
  /** Holds on the whole cluster, if the reader may list holds: a freeze blocks every grant. */
  readonly holds?: readonly HoldNote[]
  /** No policy is declared, so the built-in one decides. */
  readonly isBuiltIn: boolean
  readonly counts: {
    readonly granted: number
    readonly denied: number
    readonly succeeded: number
    readonly failed: number
  }
}

export type BudgetRow = LimitRow | BreakerRow | BlameRow | GrantRow | WaitingPermitRow | WindowRow

/** The rest of one budget or rate in one domain. */
export interface LimitRow {
  readonly id: string
  readonly row: 'Budget' | 'Rate' | 'HealthFloor'
  readonly policy: string
  /** `Audit` only reports. */
  readonly mode: 'Enforce' | 'Audit'
  readonly per: string
  /** The domain's value; empty for the cluster. */
  readonly domain: string
  /** For a budget: concurrent or unavailable. For a rate: its window, such as 1h. */
  readonly of: string
  readonly limit: number
  readonly used: number
  readonly left: number
  /** As declared, such as 5%. */
  readonly declared: number | string
  /** For an exhausted rate: when the next grant is possible. */
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
  /** What the permit is for; left out when it cannot be read. */
  readonly purpose?: string
  readonly target: ObjectName
  readonly operations: readonly string[]
  readonly state: 'Held' | 'Orphaned'
  readonly since: Stamp
  readonly component?: string
  readonly zone?: string
  readonly rack?: string
  readonly pool?: string
}

/** A permit that is not granted yet, with the gates that block it. */
export interface WaitingPermitRow {
  readonly id: string
  readonly row: 'Waiting'
  readonly object: ObjectName
  readonly operations: readonly string[]
  readonly targets: number
  readonly since?: Stamp
  /** What it is for. */
  readonly reason: string
  readonly gates: readonly {
    readonly gate: string
    readonly verdict: string
    readonly policy?: string
    /** The gate's finding, with limit and policy. */
    readonly text: string
  }[]
  readonly approvals: readonly Approvable[]
}

export interface WindowRow {
  readonly id: string
  readonly row: 'Window'
  readonly policy: string
  readonly isOpen: boolean
  /** When it next opens or closes; left out if unknown. */
  readonly changesAt?: Stamp
  readonly text: string
}
