// Pure: what the agent's supervisor does next. One rule: a copy on trial must report within a limited time and number of starts, or the previous one is restored.
import type { AgentSwitch } from './switch-file.ts'

export interface Trial {
  readonly open: AgentSwitch | undefined
  /** The slot that reported last. */
  readonly reported: string | undefined
  /** How often the copy on trial has exited. */
  readonly ends: number
  readonly forMs: number
}

export type Verdict =
  | { readonly kind: 'None' | 'Wait' | 'Passed' }
  | { readonly kind: 'GoBack'; readonly reason: string }

/** A start, a connection and one write take seconds; two minutes allow for a busy API server. */
export const REPORT_WITHIN_MS = 120_000
export const MAX_ENDS = 3

export function judgeTrial({ open, reported, ends, forMs }: Trial): Verdict {
  if (open === undefined || open.gaveUp !== undefined) return { kind: 'None' }
  // Also after its report, until its probes have passed.
  if (ends >= MAX_ENDS) return { kind: 'GoBack', reason: `the new agent ended ${ends} times during its trial` }
  if (reported === open.to) return { kind: 'Passed' }
  if (forMs >= REPORT_WITHIN_MS)
    return { kind: 'GoBack', reason: `the new agent did not report within ${REPORT_WITHIN_MS / 1_000} s` }
  return { kind: 'Wait' }
}

const FIRST_PAUSE_MS = 500
const MOST_PAUSE_MS = 30_000
/** An agent that ran this long did not crash at its start. */
const CALM_MS = 60_000

/** Delay before restarting an agent that exited by itself. */
export const pauseMs = (endsInARow: number, ranMs: number): number =>
  ranMs >= CALM_MS ? FIRST_PAUSE_MS : Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(endsInARow, 10))
