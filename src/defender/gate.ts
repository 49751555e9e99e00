// A gate's verdict on one target, the order of the gates, and how several verdicts become one.
import type { ReasonName } from './reason-name.ts'

export const GATES = [
  'Target',
  'Hold',
  'Protect',
  'FleetStop',
  'OwnPods',
  'Window',
  'HealthFloor',
  'Blame',
  'Budget',
  'Rate',
  'Breaker',
  'Approval',
  'Rule',
  'FleetTurn',
] as const
/** `Ledger` comes last: the slot is taken, or there is no room for it. */
export type Gate = (typeof GATES)[number] | 'Ledger'

export interface GateVerdict {
  readonly gate: Gate
  readonly verdict: 'Granted' | 'Waiting' | 'Denied'
  readonly reason: ReasonName
  readonly policy?: string
  readonly seen?: string
  readonly limit?: string
  /** Pointer into the policy's spec, in the generation that was read. */
  readonly field?: string
  readonly generation?: number
  readonly count?: number
  readonly hold?: string
  readonly component?: string
  /** Seconds. */
  readonly retryAfter?: number
}

const RANK = { Granted: 0, Waiting: 1, Denied: 2 } as const

/** Of several verdicts of one gate (policies, budgets), the strictest counts. Among equals, the first. */
export const hardest = (verdicts: readonly GateVerdict[]): GateVerdict | undefined =>
  verdicts.reduce<GateVerdict | undefined>(
    (worst, v) => (worst === undefined || RANK[v.verdict] > RANK[worst.verdict] ? v : worst),
    undefined,
  )

/** The verdict that decides about the target: a denial, otherwise the first in gate order that does not pass. */
export const binding = (verdicts: readonly GateVerdict[]): GateVerdict | undefined =>
  verdicts.find((v) => v.verdict === 'Denied') ?? verdicts.find((v) => v.verdict === 'Waiting')
