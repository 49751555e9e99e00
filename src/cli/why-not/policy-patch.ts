// The smallest change of a DefenderPolicy that lets one more pass the gate that holds it: the limit that was met, raised by what is missing. Pure.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { assertNever } from '#lib/errors.ts'

export type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]
export type PolicyGate = 'Window' | 'HealthFloor' | 'Budget' | 'Rate' | 'Breaker' | 'Rule'

/** What is merged into the spec; undefined where the verdict does not fit the policy as it is now. */
export function policyPatch(gate: PolicyGate, verdict: Verdict, { spec }: DefenderPolicy): object | undefined {
  const { seen = '', limit = '' } = verdict
  const count = leadingNumber(seen)
  switch (gate) {
    case 'Window':
      return limit.startsWith('until') ? { blackouts: null } : { windows: null }
    case 'HealthFloor':
      return count === undefined ? undefined : { healthFloor: count }
    case 'Budget': {
      const at = (spec.budgets ?? []).findIndex(
        ({ max, of, per }) => limit.endsWith(`(${max}) per ${per}`) && seen.includes(` ${of}`),
      )
      return count === undefined ? undefined : raised('budgets', spec.budgets, at, count + 1)
    }
    case 'Rate': {
      const at = (spec.rates ?? []).findIndex(({ window, max, per }) => limit === `${max} in ${window} per ${per}`)
      return count === undefined ? undefined : raised('rates', spec.rates, at, count + 1)
    }
    case 'Breaker':
      return { breaker: null }
    case 'Rule': {
      const rules = (spec.rules ?? []).filter((r) => !seen.startsWith(`${r.name}: `))
      return rules.length === spec.rules?.length ? undefined : { rules: rules.length === 0 ? null : rules }
    }
    default:
      return assertNever(gate)
  }
}

function leadingNumber(text: string): number | undefined {
  const found = /^\d+/.exec(text)?.[0]
  return found === undefined ? undefined : Number(found)
}

/** A list is merged as a whole: the others stay as they are. */
function raised(field: string, list: readonly object[] = [], at: number, max: number): object | undefined {
  return at < 0 ? undefined : { [field]: list.map((entry, n) => (n === at ? { ...entry, max } : entry)) }
}
