// The gate for targets that a policy protects from every disruption, unless a hold lifts that for a while.
import type { GateVerdict } from '../gate.ts'
import { holdsOn } from '../holds.ts'
import type { GateContext, Question } from '../question.ts'
import { deny, pass } from '../verdict-of.ts'

export function protectGate({ permit, unit, policies }: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  const { holds, cluster, wall } = snapshot
  const isLifted = holdsOn(holds, ['Unprotect'], { permit, unit }, { cluster, now: wall }).length > 0
  return policies.flatMap((policy) => {
    const at = policy.protections.findIndex((p) => p.matches(unit))
    const protection = policy.protections[at]
    if (protection === undefined) return []
    if (isLifted) return [pass('Protect', { reason: 'Protected', policy, seen: 'protection lifted by a hold' })]
    return [deny('Protect', { reason: 'Protected', policy, seen: protection.reason, field: `/protect/${at}` })]
  })
}
