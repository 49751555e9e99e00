// The largest share of machines that rules and policies let be out of service at once, as they are written. A history without a storm would not show it.
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import type { CompiledPolicy } from '#defender/compile-policy.ts'

export interface WidestBudget {
  readonly share: number
  readonly what: string
}

const shareOf = (max: number | string): number =>
  typeof max === 'string' ? Number(/^(\d{1,3})%$/.exec(max)?.[1] ?? 0) / 100 : 0

/** Of what differs from the base; what stays as it is was agreed to before. */
export function widestBudget(rules: readonly ActiveRule[], policies: readonly CompiledPolicy[]): WidestBudget {
  const all = [
    ...rules.map(({ name, spec }) => ({
      what: `rule ${name}: limits.maxInFlight`,
      share: shareOf(spec.limits.maxInFlight),
    })),
    ...policies.flatMap(({ name, spec }) =>
      (spec.budgets ?? []).map(({ max, of, per }) => ({
        what: `policy ${name}: ${of} per ${per}`,
        share: shareOf(max),
      })),
    ),
  ]
  return all.toSorted((a, b) => b.share - a.share)[0] ?? { share: 0, what: 'no share' }
}
