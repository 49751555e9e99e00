// Failing operations stop further ones. Recoveries always pass, and after a while a few trials are permitted.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { REPAIRER } from '../blame/failing.ts'
import { breakerAt, halfOpensIn, newBreaker } from '../breaker.ts'
import type { CompiledPolicy } from '../compile-policy.ts'
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { GOES_BACK, deny, pass, wait } from '../verdict-of.ts'

export function breakerGate(question: Question, context: GateContext): readonly GateVerdict[] {
  const { policies, isRecovery } = question
  const { now } = context.ledger
  return policies.flatMap((policy) => {
    const rule = policy.spec.breaker
    if (rule === undefined) return []
    const entry = breakerAt(context.ledger.breaker(policy.name) ?? newBreaker(policy.name, now), rule, now)
    if (entry.state === 'Closed') return [pass('Breaker', { reason: 'BreakerClosed', policy })]
    if (isRecovery) return [pass('Breaker', { reason: 'RecoveryExempt', policy, seen: GOES_BACK })]
    if (entry.state === 'Open') {
      const retryAfterMs = halfOpensIn(entry, rule, now)
      const seen = `breaker open since ${entry.since} after ${entry.failures} failures`
      return [
        wait('Breaker', {
          reason: 'BreakerOpen',
          policy,
          seen,
          limit: `retries after ${rule.halfOpenAfter}`,
          retryAfterMs,
        }),
      ]
    }
    // A repair requested while the breaker was open was for the fleet at that time. The requester checks again and requests a new permit.
    if (isStaleRepair(question.permit)) {
      const seen = 'requested while the breaker was open; request it again if it is still needed'
      return [deny('Breaker', { reason: 'BreakerHalfOpen', policy, seen })]
    }
    const tried = trialsInFlight(policy, entry.since, context)
    const parts = { policy, seen: `${tried} trial operations running`, limit: `${entry.trial} at a time` }
    return [
      tried < entry.trial
        ? pass('Breaker', { reason: 'BreakerHalfOpen', ...parts })
        : wait('Breaker', { reason: 'BreakerHalfOpen', ...parts }),
    ]
  })
}

/** Decided from the permit's own status, not from times, which come from two clocks. */
const isStaleRepair = ({ spec, status }: OperationPermit): boolean =>
  spec.requester.kind === REPAIRER &&
  status?.conditions?.some((c) => c.type === 'PermitGranted' && c.reason === 'BreakerOpen') === true

/** Running operations granted since the breaker turned half open. Earlier ones prove nothing about now. */
function trialsInFlight(policy: CompiledPolicy, since: string, { ledger, levels }: GateContext): number {
  return ledger.grants().filter((g) => {
    if (g.exempt !== undefined || g.state !== 'Held' || g.grantedAt < since || !policy.decides(g.operations))
      return false
    const unit = levels.unitOf(g)
    return unit === undefined || policy.selects(unit)
  }).length
}
