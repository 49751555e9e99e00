// The share of machines that rules and policies let be out of service at once, as they are written. A history without a storm would not show it. A number counts as a
// share of the machines that it is about; what a side takes over from the other one was agreed to before.
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { DISRUPTIONS } from '#api/kinds/operation-permit.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'
import { budgetLimit } from '#defender/levels.ts'
import type { Unit } from '#defender/unit.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'

export interface WidestBudget {
  readonly share: number
  readonly what: string
}

export interface BudgetsOf {
  readonly rules: readonly ActiveRule[]
  readonly policies: readonly CompiledPolicy[]
  readonly units: readonly Unit[]
  /** Nodes that the rule is about. */
  readonly nodesOf: (rule: string) => number
}

/** By what it limits. */
type Budgets = ReadonlyMap<string, WidestBudget>

const NONE: WidestBudget = { share: 0, what: 'no share' }

export function budgetsOf({ rules, policies, units, nodesOf }: BudgetsOf): Budgets {
  const machines = units.filter((u) => u.space === 'machines' && u.health !== 'NeverServed')
  const enforced = policies.filter((p) => p.spec.mode !== 'Audit')
  return new Map([
    ...rules.map(({ name, spec: { limits } }) => {
      const { share, seen } = shareOf(limits.maxInFlight, nodesOf(name))
      return [`rule ${name}`, { share, what: `rule ${name}: limits.maxInFlight${seen && `,${seen} nodes`}` }] as const
    }),
    ...enforced.map(
      (policy) =>
        [
          `policy ${policy.name}`,
          ofPolicy(
            policy,
            machines.filter((unit) => policy.selects(unit)),
          ),
        ] as const,
    ),
    ['no budget', unlimited(enforced, machines)] as const,
  ])
}

/** The largest that the other side does not have. */
export const widestOf = (own: Budgets, other: Budgets): WidestBudget =>
  widest([...own].flatMap(([key, one]) => (other.get(key)?.share === one.share ? [] : [one])))

/** The largest that is larger than on the side before. */
export const widestLoosened = (before: Budgets, after: Budgets): WidestBudget =>
  widest([...after].flatMap(([key, one]) => (one.share > (before.get(key)?.share ?? 0) ? [one] : [])))

const widest = (all: readonly WidestBudget[]): WidestBudget =>
  all.reduce((most, one) => (one.share > most.share ? one : most), NONE)

interface Share {
  readonly share: number
  /** Of a number, which may be more than there are. */
  readonly seen: string
}

/** A single machine is a repair: of a group of one it would be all. */
const FEWEST = 2

function shareOf(max: number | string, machines: number): Share {
  if (typeof max === 'string') return { share: Number(/^(\d{1,3})%$/.exec(max)?.[1] ?? 0) / 100, seen: '' }
  if (machines < FEWEST) return { share: 0, seen: '' }
  return { share: Math.min(1, max / machines), seen: ` ${Math.min(max, machines)} of ${machines}` }
}

type Budget = NonNullable<DefenderPolicySpec['budgets']>[number]

function ofPolicy({ name, spec: { budgets = [] } }: CompiledPolicy, machines: readonly Unit[]): WidestBudget {
  const inCluster = budgets.flatMap(({ max, per }) => (per === 'cluster' ? [budgetLimit(max, machines.length)] : []))
  return widest(
    budgets.map(({ max, of, per }) => {
      const limit = typeof max === 'string' ? max : Math.min(max, ...inCluster)
      const { share, seen } = shareOf(limit, typeof max === 'string' ? 0 : smallest(per, machines))
      return { share, what: `policy ${name}: ${of} per ${per}${seen && `,${seen} machines`}` }
    }),
  )
}

/** A rack is what a fleet can lose, and a control plane is no machine: numbers of these are no share. */
function smallest(per: Budget['per'], machines: readonly Unit[]): number {
  if (per === 'cluster') return machines.length
  if (per !== 'zone' && per !== 'pool') return 0
  const sizes = [...Map.groupBy(machines, (unit) => unit[per]).values()].map((of) => of.length)
  return sizes.filter((size) => size >= FEWEST).toSorted((a, b) => a - b)[0] ?? 0
}

const TAKE_OUT = DISRUPTIONS.filter((operation) => takesAvailability([operation]))

/** Policies replace the built-in one, which has a budget: a machine of which all policies have none has no limit. */
function unlimited(enforced: readonly CompiledPolicy[], machines: readonly Unit[]): WidestBudget {
  const without = enforced.filter(({ spec }) => (spec.budgets ?? []).length === 0)
  if (without.length === 0 || machines.length === 0) return NONE
  const isFree = (unit: Unit) =>
    TAKE_OUT.some((operation) => {
      const found = enforced.filter((p) => p.decides([operation]) && p.selects(unit))
      return found.length > 0 && found.every((p) => without.includes(p))
    })
  const names = without.map((p) => p.name).join(', ')
  return { share: machines.filter(isFree).length / machines.length, what: `no budget in policy ${names}` }
}
