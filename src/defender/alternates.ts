// Decides which alternates of a permit the Defender would deny individually. One request answers for a hundred machines, and no slot is taken for
// them. Uses only what the machine and the policies themselves rule out. Budgets, rates and breakers apply when a permit is requested.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type GateVerdict, binding } from './gate.ts'
import { policiesFor } from './gates.ts'
import { protectGate } from './gates/protect.ts'
import { ruleGate } from './gates/rule.ts'
import { targetGate } from './gates/target.ts'
import type { GateContext, Question } from './question.ts'

export interface RefusedAlternate {
  readonly target: string
  readonly verdict: GateVerdict
}

/** Empty when every alternate may be requested; undefined when the permit names none. */
export function refusedAlternates(
  permit: OperationPermit,
  context: GateContext,
): readonly RefusedAlternate[] | undefined {
  const { alternates } = permit.spec
  const { snapshot } = context
  if (alternates === undefined || snapshot.unknown !== undefined || snapshot.isWithoutDisruption(permit))
    return undefined
  return alternates.flatMap((target) => {
    const found = snapshot.fleet.find(target)
    const known = targetGate(found, { permit, uid: target.uid }, snapshot)
    if (known.verdict === 'Denied') return { target: target.uid, verdict: known }
    if (found.kind !== 'Found') return []
    const { unit } = found
    const question: Question = {
      permit,
      unit,
      isRecovery: false,
      policies: policiesFor(snapshot.policies, permit, unit),
    }
    const verdict = binding([...protectGate(question, context), ...ruleGate(question, context)])
    return verdict?.verdict === 'Denied' ? { target: target.uid, verdict } : []
  })
}
