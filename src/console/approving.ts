// What a person reads before they approve something. Types only; times are milliseconds since 1970.
import type { Stamp } from './basics.ts'

/** GET /api/approving?cluster=&kind=&name=[&namespace=]&digest=: read with the user's own rights. */
export interface ApprovingAnswer {
  /** What happens, in order. */
  readonly effects: readonly ApprovalEffect[]
  /** What it still waits for once it is approved. */
  readonly waits: readonly string[]
  readonly risk: {
    /** Left out: it is not rated. */
    readonly level?: 'Low' | 'Medium' | 'High'
    readonly why: readonly string[]
  }
  /** Oldest first. Left out: the user may not list Approvals. */
  readonly given?: readonly GivenApproval[]
  readonly moreGiven: number
  /** Who is asked for how many approvals. */
  readonly asks: readonly AskedApprovals[]
  /** What the approval covers, and what it does not. */
  readonly scope: string
  /** The full id of the commit that it is about: its plan can be read. */
  readonly commit?: string
}

export interface ApprovalEffect {
  readonly text: string
  /** Machines or clusters, each with what is known of it. */
  readonly on: readonly string[]
  readonly moreOn: number
}

export interface GivenApproval {
  readonly name: string
  readonly by: string
  readonly at?: Stamp
  readonly until?: Stamp
  readonly reason?: string
  readonly state: 'Counts' | 'Expired' | 'OfNoUse'
}

export interface AskedApprovals {
  /** "gate board of stage prod". */
  readonly name: string
  /** Left out with the next ones: not known, for the reason in `unknown`. */
  readonly from?: string
  readonly needed?: number
  readonly missing?: number
  /** Whether the user's own approval would count; left out if the server does not report who they are. */
  readonly isYours?: boolean
  readonly unknown?: string
  /** When the gate fails if approvals are still missing. */
  readonly until?: Stamp
}
