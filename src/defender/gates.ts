// The gates in order. Each decides whether one target may pass, with the observed value and the limit. All are evaluated, even after a denial, so
// that a permit shows everything that blocks it. Unknown never passes.
import type { RECOVERY_EXEMPTIONS } from '#api/kinds/defender-policy.ts'
import { DISRUPTIONS, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import { blameGate } from './blame/gate.ts'
import { builtinPolicy, type CompiledPolicy } from './compile-policy.ts'
import type { Unit } from './unit.ts'
import { type GateVerdict, hardest } from './gate.ts'
import { approvalGate } from './gates/approval.ts'
import { breakerGate } from './gates/breaker.ts'
import { budgetGate } from './gates/budget.ts'
import { fleetStopGate, fleetTurnGate } from './gates/fleet.ts'
import { healthFloorGate } from './gates/health-floor.ts'
import { holdGate } from './gates/hold.ts'
import { ownPodsGate } from './gates/own-pods.ts'
import { protectGate } from './gates/protect.ts'
import { rateGate } from './gates/rate.ts'
import { ruleGate } from './gates/rule.ts'
import { windowGate } from './gates/window.ts'
import type { GateContext, Question } from './question.ts'
import { GOES_BACK, pass } from './verdict-of.ts'
import { defined } from '#lib/defined.ts'

/** The enforced policies that apply. The built-in policy too if none of them decides one of the operations that make a target unavailable. */
export function policiesFor(
  all: readonly CompiledPolicy[],
  permit: OperationPermit,
  unit: Unit,
): readonly CompiledPolicy[] {
  const { operations } = permit.spec
  const found = all.filter((p) => p.spec.mode !== 'Audit' && p.decides(operations) && p.selects(unit))
  // A cordon comes with each drain and reboot, and under the policies of these.
  const isLeftOut = operations.some(
    (o) => o !== 'Cordon' && takesAvailability([o]) && !found.some((p) => p.decides([o])),
  )
  if (found.length === 0) return [builtinPolicy]
  return isLeftOut ? [...found, builtinPolicy] : found
}

/** Some target or operation has no enforced policy, so that the built-in one decides it. */
export const isBuiltinInForce = (all: readonly CompiledPolicy[]): boolean => {
  const ofAll = all.filter((p) => p.spec.mode !== 'Audit' && (p.spec.selector === undefined || p.broken !== undefined))
  return DISRUPTIONS.some((o) => !ofAll.some((p) => p.decides([o])))
}

/** The policies in mode Audit that apply. */
export const auditorsOf = (
  all: readonly CompiledPolicy[],
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
): readonly CompiledPolicy[] =>
  all.filter((p) => p.spec.mode === 'Audit' && p.decides(permit.spec.operations) && p.selects(unit))

const GATES_IN_ORDER = [
  protectGate,
  fleetStopGate,
  ownPodsGate,
  exempting('Window', windowGate),
  exempting('HealthFloor', healthFloorGate),
  (question: Question, { ledger, snapshot }: GateContext) => blameGate(question, ledger.blames, snapshot.retried),
  exempting('Budget', budgetGate),
  rateGate,
  breakerGate,
  exempting('Approval', approvalGate),
  ruleGate,
  fleetTurnGate,
] as const

type AskGate = (question: Question, context: GateContext) => readonly GateVerdict[]

/** Policies that exempt recoveries do not apply to them. */
function exempting(name: (typeof RECOVERY_EXEMPTIONS)[number], gate: AskGate): AskGate {
  return (question, context) => {
    if (name === 'Budget' && question.isBudgetExempt === true)
      return [pass(name, { reason: 'RecoveryExempt', seen: `${GOES_BACK}; its pipeline exempts reverts from budgets` })]
    const isExempt = ({ spec }: CompiledPolicy) => spec.exemptRecoveries?.includes(name) === true
    if (!question.isRecovery || !question.policies.some(isExempt)) return gate(question, context)
    const policies = question.policies.filter((p) => !isExempt(p))
    const [policy] = question.policies.filter(isExempt)
    const passed = pass(name, { reason: 'RecoveryExempt', ...defined({ policy }), seen: GOES_BACK })
    return [...gate({ ...question, policies }, context), passed]
  }
}

/** One verdict per gate that has a result, in gate order. */
export function askGates(question: Question, context: GateContext): readonly GateVerdict[] {
  const held = holdGate(question, context)
  const rest = GATES_IN_ORDER.flatMap((gate) => hardest(gate(question, context)) ?? [])
  return held === undefined ? rest : [held, ...rest]
}
