// Metrics of service levels: nodes by state, and the remaining budget of each pool.
import type { KeptDays } from '#measure/kept-days.ts'
import { sumOfDays } from '#measure/kept-days.ts'
import { NODE_STATES, type NodeState } from '#measure/node-state.ts'
import { budgetOf } from '#measure/service-level.ts'
import type { Family } from './family.ts'

const MOST_POOLS = 200

export function serviceFamilies(
  counts: ReadonlyMap<NodeState, number>,
  inService: ReadonlyMap<string, number>,
  kept: KeptDays | undefined,
): readonly Family[] {
  const sums = kept === undefined ? new Map() : sumOfDays(kept)
  const budgets = [...sums].slice(0, MOST_POOLS).flatMap(([pool, seconds]) => {
    const budget = budgetOf(seconds, inService.get(pool) ?? 0, kept?.days.length ?? 0)
    return budget === undefined ? [] : [{ labels: { pool }, value: budget.left }]
  })
  return [
    {
      name: 'kubenode_nodes',
      help: 'Nodes by what the present second of them counts as: good, planned, fault, silent, pending.',
      labels: ['state'],
      // All of them, so that a panel shows 0 instead of no data.
      samples: NODE_STATES.map((state) => ({ labels: { state }, value: counts.get(state) ?? 0 })),
    },
    {
      name: 'kubenode_pool_budget_left',
      help: 'Share of the error budget of 30 days (99.9 %) that is left for a pool; below 0 it is overspent.',
      labels: ['pool'],
      samples: budgets,
    },
  ]
}
