// What a comparison of two rule sets over a history found, as data.
import type { WidestBudget } from './budgets.ts'
import type { Doubts } from './doubts.ts'
import type { Unmeasured } from './measured.ts'
import type { Bound, Peak, PlaceKind, RuleSums } from './sums.ts'

export interface Example {
  readonly node: string
  readonly rule: string
  readonly at: number
}

interface Compared {
  readonly added: number
  readonly removed: number
  readonly earlier: number
  readonly later: number
}

export interface RuleResult extends Compared {
  readonly rule: string
  readonly base: RuleSums
  readonly change: RuleSums
}

export interface SideResult {
  readonly total: RuleSums
  /** Nodes that were down for more than ten minutes without a repair. */
  readonly missed: number
  readonly peaks: Readonly<Partial<Record<PlaceKind, Peak>>>
  /** Limits of rules that made repairs wait. */
  readonly limits: readonly Bound[]
  /** Gates of the Defender that made permits wait. */
  readonly gates: readonly Bound[]
  /** The largest share of machines that a budget or limit which the other side does not have allows at once. */
  readonly budget: WidestBudget
}

interface Calibration {
  readonly recorded: number
  readonly predicted: number
  readonly matched: number
  /** Of these, with the same name: the same fault, counted from the same second. */
  readonly exact: number
  /** Of all jobs on either side; 1 if there are none. */
  readonly share: number
  readonly missing: readonly Example[]
  readonly invented: readonly Example[]
}

export interface Spread {
  readonly median: number
  readonly p95: number
}

export interface ClosedSums {
  readonly jobs: Spread
  readonly reboots: Spread
  readonly drains: Spread
  /** Minutes in which nodes had a fault that some rule names. */
  readonly faultMinutes: Spread
  /** Its repairs of which too few were recorded: they end no fault before it ended in the history. */
  readonly unmeasured: readonly Unmeasured[]
}

interface ClosedResult {
  readonly seeds: number
  /** Recorded outcomes from which the chances were measured. */
  readonly outcomes: number
  readonly base: ClosedSums
  readonly change: ClosedSums
}

/** Requests of rollouts, maintenance and people, as recorded. */
export interface PermitsResult {
  readonly asked: number
  readonly granted: { readonly base: number; readonly change: number }
  /** Granted by the policies of the base, and never by those of the change. */
  readonly refused: number
  /** The other way round. */
  readonly allowed: number
  readonly later: number
  readonly sooner: number
}

export interface BacktestResult extends Doubts {
  readonly cluster: string
  readonly from: number
  readonly to: number
  readonly rows: number
  readonly nodes: number
  /** No node was recorded in that time, or it is one gap: nothing follows from it. */
  readonly isEmpty: boolean
  /** Share of the time in which nothing was recorded. */
  readonly unknownShare: number
  readonly calibration: Calibration
  readonly rules: readonly RuleResult[]
  readonly total: Compared
  readonly base: SideResult
  readonly change: SideResult
  /** The widest budget or limit that the change adds or loosens. */
  readonly loosened: WidestBudget
  readonly permits: PermitsResult
  readonly closed: ClosedResult | undefined
  readonly examples: {
    readonly added: readonly Example[]
    readonly removed: readonly Example[]
    readonly needless: readonly Example[]
    readonly missed: readonly Example[]
  }
}

export const MOST_EXAMPLES = 5
/** Below it the rules do not explain what happened, and nothing follows from a comparison. */
export const TRUSTED_SHARE = 0.95

export const isTrusted = ({ calibration, isEmpty }: BacktestResult): boolean =>
  !isEmpty && calibration.share >= TRUSTED_SHARE
