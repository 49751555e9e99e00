// Asks the rules of policies: those about the cluster once, those about a pool once for each pool.
import type { Facts } from '#policy/reading.ts'
import { evaluate } from '#policy/evaluate.ts'
import type { Verdict } from '#policy/verdict.ts'
import { NO_POOL } from '#measure/kept-days.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { FleetView } from './fleet.ts'
import type { PoolBudgets } from './pool-budgets.ts'
import { EVERYTHING } from './tally.ts'
import { isAway } from './unit.ts'

/** Policy → rule → verdict. */
export type RuleVerdicts = ReadonlyMap<string, ReadonlyMap<string, Verdict>>

const POOL_FACT = 'pool'

/** Whether a rule of the policy says something about the pool of a target. */
export const asksPool = ({ spec }: CompiledPolicy): boolean => (spec.rules ?? []).some(({ when }) => namesPool(when))

/** A rule tree is data: the fact of every leaf is a field of its own. */
function namesPool(tree: unknown): boolean {
  if (Array.isArray(tree)) return tree.some(namesPool)
  if (typeof tree !== 'object' || tree === null) return false
  return 'fact' in tree && tree.fact === POOL_FACT ? true : Object.values(tree).some(namesPool)
}

export async function ruleVerdicts(
  policies: readonly CompiledPolicy[],
  fleet: FleetView,
  inFlight: number,
  now: number,
): Promise<RuleVerdicts> {
  const asked = policies.filter((p) => p.rules !== undefined)
  return asked.length === 0 ? new Map() : verdictsOn(asked, clusterFacts(fleet, inFlight), now)
}

/** Pool → the verdicts of policies that ask about pools. What is unknown of a pool is absent from its facts. */
export async function poolVerdicts(
  policies: readonly CompiledPolicy[],
  budgets: PoolBudgets,
  fleet: FleetView,
  inFlight: number,
  now: number,
): Promise<ReadonlyMap<string, RuleVerdicts>> {
  const asked = policies.filter(asksPool)
  if (asked.length === 0) return new Map()
  const facts = clusterFacts(fleet, inFlight)
  return new Map(
    await Promise.all(
      [...budgets].map(async ([pool, budgetLeft]) => {
        const verdicts = await verdictsOn(asked, { ...facts, [POOL_FACT]: { name: pool, budgetLeft } }, now)
        return [pool, verdicts] as const
      }),
    ),
  )
}

/** The verdicts for a target in this pool; rules about a pool of which nothing is known are absent, and so unknown. */
export const verdictsFor = (
  policy: CompiledPolicy,
  pool: string,
  rules: RuleVerdicts,
  byPool: ReadonlyMap<string, RuleVerdicts> | undefined,
): ReadonlyMap<string, Verdict> | undefined =>
  asksPool(policy)
    ? (byPool?.get(pool === '' ? NO_POOL : pool)?.get(policy.name) ?? rules.get(policy.name))
    : rules.get(policy.name)

async function verdictsOn(policies: readonly CompiledPolicy[], facts: Facts, now: number): Promise<RuleVerdicts> {
  const answers = await Promise.all(
    policies.map(async ({ name, rules }) => {
      if (rules === undefined) return [name, new Map<string, Verdict>()] as const
      const evaluation = await evaluate(rules, facts, now)
      return [name, new Map(rules.rules.map((r) => [r.name, evaluation.verdict(r.name) ?? 'unknown']))] as const
    }),
  )
  return new Map(answers)
}

/** Without machines, the share is unknown, not zero. */
function clusterFacts(fleet: FleetView, inFlight: number): Facts {
  const { total: machines, troubled, silent } = fleet.tally(EVERYTHING, 'machines')
  const unavailable = [...troubled].filter(isAway).length
  const unavailableShare = machines === 0 ? undefined : unavailable / machines
  return { cluster: { machines, unavailable, unavailableShare, silent, inFlight } }
}
