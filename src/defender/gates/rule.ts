// A policy's own rules about the cluster and the target's pool. An unknown value waits. Rules about a pool let recoveries pass, since those save budget.
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { asksPool, verdictsFor } from '../rule-verdicts.ts'
import { deny, pass, wait } from '../verdict-of.ts'

export function ruleGate({ policies, unit, isRecovery }: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    if (policy.broken !== undefined)
      return [
        wait('Rule', {
          reason: 'SafetyReadingUnknown',
          policy,
          seen: `invalid policy: ${policy.broken}`,
        }),
      ]
    const { rules = [] } = policy.spec
    if (rules.length === 0) return []
    if (isRecovery && asksPool(policy)) return [pass('Rule', { reason: 'RecoveryExempt', policy })]
    const answers = verdictsFor(policy, unit.pool, snapshot.rules, snapshot.poolRules)
    const verdicts = rules.flatMap(({ name, effect, reason, message }, at) => {
      const verdict = answers?.get(name) ?? 'unknown'
      if (verdict === 'false') return []
      const seen = `${name}: ${message ?? (verdict === 'unknown' ? 'cannot be evaluated' : reason)}`
      return [
        (effect === 'Deny' && verdict === 'true' ? deny : wait)('Rule', {
          reason: 'PolicyRuleDenied',
          policy,
          seen,
          field: `/rules/${at}`,
        }),
      ]
    })
    return verdicts.length > 0 ? verdicts : [pass('Rule', { reason: 'PermitGranted', policy })]
  })
}
