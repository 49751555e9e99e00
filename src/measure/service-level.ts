// Service levels of pools: the share of good node-seconds, what is left of the budget of the last 30 days, and how fast it burns. Pure.
import type { NodeState } from './node-state.ts'

/** 99.9 %: 43.2 node-minutes in 30 days for each node. */
const OBJECTIVE = 0.999
export const WINDOW_DAYS = 30
const DAY_SECONDS = 86_400

export type StateSeconds = Readonly<Record<NodeState, number>>

export const NO_SECONDS: StateSeconds = { good: 0, planned: 0, fault: 0, silent: 0, pending: 0 }

export const plus = (a: StateSeconds, b: Partial<StateSeconds>): StateSeconds => ({
  good: a.good + (b.good ?? 0),
  planned: a.planned + (b.planned ?? 0),
  fault: a.fault + (b.fault ?? 0),
  silent: a.silent + (b.silent ?? 0),
  pending: a.pending + (b.pending ?? 0),
})

/** Good of what counts. Planned time is shown beside it and never hidden in it; undefined while nothing counted. */
export function serviceLevel({ good, fault, silent }: StateSeconds): number | undefined {
  const counted = good + fault + silent
  return counted === 0 ? undefined : good / counted
}

/** The share of bad seconds of those that the objective allows; above 1 the budget does not last. */
export function burnRate(seconds: StateSeconds, objective = OBJECTIVE): number | undefined {
  const level = serviceLevel(seconds)
  return level === undefined ? undefined : (1 - level) / (1 - objective)
}

export interface Budget {
  /** Node-seconds that may be bad in the whole window, for the nodes that the pool has now. */
  readonly allowed: number
  readonly spent: number
  /** 1: untouched, 0: spent, below: overspent. */
  readonly left: number
  /** Days that were measured; until the window is full, nothing is known of the days before. */
  readonly days: number
}

/** Undefined for a pool without nodes in service: what it may spend is unknown. */
export function budgetOf(
  { fault, silent }: StateSeconds,
  nodes: number,
  measuredDays: number,
  objective = OBJECTIVE,
): Budget | undefined {
  if (nodes <= 0) return undefined
  const allowed = nodes * WINDOW_DAYS * DAY_SECONDS * (1 - objective)
  const spent = fault + silent
  return { allowed, spent, left: 1 - spent / allowed, days: Math.min(WINDOW_DAYS, measuredDays) }
}
