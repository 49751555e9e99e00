// What a review of rules over a history found, as data.
import type { FleetConditions } from '#declared/unset-conditions.ts'
import type { ConditionSums } from './conditions-seen.ts'
import type { RepairSums } from './repairs-seen.ts'
import type { TrueSums } from './times-true.ts'

export interface RuleReview extends RepairSums, TrueSums {
  readonly rule: string
  readonly mode: 'Enforce' | 'DryRun' | 'Shadow'
  /** The rule compiles, or an earlier version of it does. */
  readonly isActive: boolean
  /** How long it was recorded in the window, without gaps. */
  readonly knownMs: number
  /** Its hold-down: how long it must be true. */
  readonly forMs: number
  /** Conditions that it reads and no node ever had, if it cannot be true without them. */
  readonly neverReported: readonly string[]
}

export interface ConditionReview extends ConditionSums {
  /** Rules that read it, by name. */
  readonly rules: readonly string[]
  /** It needs no rule: a reason is declared, a rollout stops for it, or it tells of planned work. */
  readonly isExcused: boolean
}

export interface ReviewResult {
  readonly cluster: string
  readonly from: number
  readonly to: number
  /** The window that was asked for; the history may be shorter. */
  readonly windowMs: number
  readonly rows: number
  readonly nodes: number
  readonly unknownShare: number
  /** No node was recorded in that time, or it is one gap. */
  readonly isEmpty: boolean
  readonly rules: readonly RuleReview[]
  /** Every recorded condition that meant trouble at least once. */
  readonly conditions: readonly ConditionReview[]
  /** Rules of the fleet that can never be true; undefined if that is not known. */
  readonly unset: FleetConditions['unset']
}
