// The status of a policy: whether it is valid and decides, how many targets it has, and its breaker. Pure.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { jsonEqual } from '#lib/json.ts'
import { type WantedCondition, setConditions } from '#kube/conditions.ts'
import { editedConditions } from '#declared/edited-status.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { Decisions } from './decision-counts.ts'
import type { FleetView } from './fleet.ts'
import type { Unit } from './unit.ts'

export type PolicyStatus = NonNullable<DefenderPolicy['status']>

const NO_DECISIONS: Decisions = { granted: 0, waiting: 0, denied: 0 }

export interface PolicyObservation {
  readonly policy: DefenderPolicy
  readonly compiled: CompiledPolicy
  readonly ledger: LedgerSpec | undefined
  readonly fleet: FleetView
  readonly now: number
  readonly decisions: Decisions
  /** Time since this process last wrote the status. Changed counts alone are written only now and then. */
  readonly sinceMs: number
}

/** Undefined if nothing is worth writing. A fleet that grows by one machine is not. */
export function policyStatus({
  policy,
  compiled,
  ledger,
  fleet,
  now,
  decisions,
  sinceMs,
}: PolicyObservation): PolicyStatus | undefined {
  const { generation: observedGeneration } = policy.metadata
  const breaker = ledger?.breakers?.find((b) => b.policy === compiled.name)?.state ?? 'Closed'
  const generation = observedGeneration === undefined ? {} : { observedGeneration }
  const wanted = conditionsOf(compiled, breaker).map((c) => ({ ...c, ...generation }))
  const before = policy.status?.conditions
  const conditions = editedConditions(setConditions(before, wanted, now), before, compiled.edit, now)
  const old = policy.status
  const isSame =
    old?.observedGeneration === observedGeneration && old?.breaker === breaker && jsonEqual(old.conditions, conditions)
  if (isSame && !isWorthWriting(old.decisions ?? NO_DECISIONS, decisions, sinceMs)) return undefined
  const counted = (space: Unit['space']) => fleet.tally(compiled, space).total
  const targets = compiled.broken === undefined ? counted('machines') + counted('clusters') : 0
  return { ...old, ...generation, targets, decisions, breaker, conditions }
}

/**
 * Rising counts are written within a minute; counts that only decay, within an hour. Two processes with different readings must not keep correcting
 * each other.
 */
const RISEN_AFTER_MS = 60_000
const FALLEN_AFTER_MS = 3_600_000

function isWorthWriting(old: Decisions, now: Decisions, sinceMs: number): boolean {
  const rises = now.granted > old.granted || now.waiting > old.waiting || now.denied > old.denied
  return rises ? sinceMs >= RISEN_AFTER_MS : sinceMs >= FALLEN_AFTER_MS && !jsonEqual(old, now)
}

function conditionsOf({ broken, spec }: CompiledPolicy, breaker: string): readonly WantedCondition[] {
  const isOpen = breaker !== 'Closed'
  const reason =
    ({ Open: 'BreakerOpen', HalfOpen: 'BreakerHalfOpen' } as Record<string, string>)[breaker] ?? 'BreakerClosed'
  const breakerOpen: WantedCondition = {
    type: 'BreakerOpen',
    status: isOpen ? 'True' : 'False',
    reason,
    message: isOpen
      ? 'too many operations failed; only recoveries and a few trials are granted'
      : 'recent operations succeeded',
  }
  if (broken !== undefined) {
    const message = `invalid policy, permits it covers are not granted: ${broken}`
    const stalled = { reason: 'InvalidSpec', message } as const
    return [
      { type: 'Ready', status: 'False', ...stalled },
      { type: 'Stalled', status: 'True', ...stalled },
      { type: 'Enforced', status: 'False', ...stalled },
      breakerOpen,
    ]
  }
  const decides = spec.mode === 'Enforce'
  const good = {
    reason: 'AsDeclared',
    message: decides ? 'the policy is valid and enforced' : 'the policy is valid and in audit mode',
  }
  return [
    { type: 'Ready', status: 'True', ...good },
    { type: 'Stalled', status: 'False', ...good },
    { type: 'Enforced', status: decides ? 'True' : 'False', ...good },
    breakerOpen,
  ]
}
