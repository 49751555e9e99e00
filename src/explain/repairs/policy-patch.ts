// The smallest change of a DefenderPolicy that permits one more operation at the blocking gate: the reached limit, raised by what is missing. Pure.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

export type Verdict = NonNullable<NonNullable<OperationPermit['status']>['verdicts']>[number]

/** Merge patch for the spec; undefined if another policy decided, or none of its limits can be raised. */
export function policyPatch(verdict: Verdict, { metadata, spec }: DefenderPolicy): object | undefined {
  const { gate, field, generation, count } = verdict
  // A breaker has no limit to raise: the gate itself is the field.
  if (gate === 'Breaker') return { breaker: null }
  if (field === undefined || generation !== metadata.generation) return undefined
  const [, list = '', at = ''] = field.split('/')
  switch (list) {
    case 'windows':
    case 'blackouts':
      return { [list]: null }
    case 'healthFloor':
      return count === undefined ? undefined : { healthFloor: count }
    case 'budgets':
    case 'rates':
      return count === undefined ? undefined : raised(list, spec[list], Number(at), count + 1)
    case 'rules': {
      const rules = (spec.rules ?? []).filter((_, n) => n !== Number(at))
      return { rules: rules.length === 0 ? null : rules }
    }
    default:
      return undefined
  }
}

/** A merge patch replaces a list as a whole, so the other items are included unchanged. */
const raised = (field: string, list: readonly object[] = [], at: number, max: number): object => ({
  [field]: list.map((entry, n) => (n === at ? { ...entry, max } : entry)),
})
