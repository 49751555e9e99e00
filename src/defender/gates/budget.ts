// Limits how many targets may be unavailable or switching at the same time, per domain.
import type { GateVerdict } from '../gate.ts'
import { budgetLimit, domainOf } from '../levels.ts'
import type { Ground, Question } from '../question.ts'
import { pass, wait } from '../say.ts'
import { isOutOfService } from '../unit.ts'

export function budgetGate({ permit, unit, policies }: Question, { levels }: Ground): readonly GateVerdict[] {
  const component = permit.spec.component?.name
  return policies.flatMap((policy) =>
    (policy.spec.budgets ?? []).flatMap(({ max, of, per }, at) => {
      const domain = domainOf(per, unit, component)
      if (domain === undefined) return []
      if (of === 'unavailable' && isOutOfService(unit))
        return [pass('Budget', { reason: 'RecoveryExempt', policy, seen: `${unit.name} ${unit.why}` })]
      const set = levels.set(policy, of, per, unit.space, domain)
      const after = set.size + (set.has(unit.id) ? 0 : 1)
      const limit = budgetLimit(max, levels.total(policy, per, unit.space, domain))
      const where = per === 'cluster' ? '' : ` in ${per} ${domain === '' ? '(none)' : domain}`
      const saying = {
        policy,
        seen: `${set.size} ${of}${where}`,
        limit: `${typeof max === 'number' ? max : `${limit} (${max})`} per ${per}`,
      }
      return [
        after <= limit
          ? pass('Budget', { reason: 'PermitGranted', ...saying })
          : wait('Budget', { reason: 'BudgetExhausted', ...saying, field: `/budgets/${at}`, count: set.size }),
      ]
    }),
  )
}
