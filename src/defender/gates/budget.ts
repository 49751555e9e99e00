// Limits how many targets may be unavailable or switching at the same time, per domain.
import { takesAvailability } from '#api/protocol/operations.ts'
import type { GateVerdict } from '../gate.ts'
import { budgetLimit, domainOf } from '../levels.ts'
import type { GateContext, Question } from '../question.ts'
import { KEEPS_SERVING, pass, wait } from '../verdict-of.ts'
import { setLimitGate } from './set-limit.ts'
import { isOutOfService } from '../unit.ts'

export function budgetGate(question: Question, context: GateContext): readonly GateVerdict[] {
  const { permit, unit, policies } = question
  const { levels: all, ledger } = context
  const component = permit.spec.component?.name
  // Reservations of other machines do not block the drain of a reserved machine. Otherwise, if a vendor announces too many, none of them would be
  // drained.
  const isBooked = ledger.reservationOf(unit.id) !== undefined && permit.spec.operations.includes('Drain')
  const levels = isBooked ? all.now : all
  const ofPolicies = policies.flatMap((policy) =>
    (policy.spec.budgets ?? []).flatMap(({ max, of, per }, at) => {
      const domain = domainOf(per, unit, component)
      if (domain === undefined) return []
      if (of === 'unavailable' && isOutOfService(unit))
        return [pass('Budget', { reason: 'RecoveryExempt', policy, seen: `${unit.name} ${unit.why}` })]
      if (of === 'unavailable' && !takesAvailability(permit.spec.operations))
        return [pass('Budget', { reason: 'PermitGranted', policy, seen: KEEPS_SERVING })]
      const set = levels.set(policy, of, per, unit.space, domain)
      const after = set.size + (set.has(unit.id) ? 0 : 1)
      const limit = budgetLimit(max, levels.total(policy, per, unit.space, domain))
      const where = per === 'cluster' ? '' : ` in ${per} ${domain === '' ? '(none)' : domain}`
      const booked = all === levels ? set.size - levels.now.set(policy, of, per, unit.space, domain).size : 0
      // These are Ready, so users would otherwise find no unavailable machine.
      const kept = after > limit && of === 'unavailable' ? levels.keptOut(policy, unit.space, set) : 0
      const notes = [
        ...(booked > 0 ? [`${booked} of them booked for work on their hosts`] : []),
        ...(kept > 0 ? [`${kept} of them Ready but kept cordoned by repairs`] : []),
      ]
      const parts = {
        policy,
        seen: [`${set.size} ${of}${where}`, ...notes].join(', '),
        limit: `${typeof max === 'number' ? max : `${limit} (${max})`} per ${per}`,
      }
      return [
        after <= limit
          ? pass('Budget', { reason: 'PermitGranted', ...parts })
          : wait('Budget', { reason: 'BudgetExhausted', ...parts, field: `/budgets/${at}`, count: set.size }),
      ]
    }),
  )
  return [...ofPolicies, ...setLimitGate(question, context)]
}
