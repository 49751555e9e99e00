// Decides what happens to taken slots: freed by a result, orphaned if the permission ended without one, and freed once the target is idle or deleted.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { nextSlotState, type SlotEvent, type SlotFacts } from '#api/protocol/permit.ts'
import { afterResult, breakerAt, newBreaker } from './breaker.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import { policiesFor } from './gates.ts'
import type { Grant, WorkingLedger } from './ledger.ts'
import type { Levels } from './levels.ts'
import type { Snapshot } from './snapshot.ts'

/** Order matters: an existing result counts even if the lease expired right after it. */
const EVENTS: readonly SlotEvent[] = ['result', 'forget', 'settle', 'orphan']

const ENDED: ReadonlySet<string> = new Set(['Expired', 'Revoked', 'Denied', 'Released'])

export function advanceSlots(ledger: WorkingLedger, levels: Levels, snapshot: Snapshot): void {
  const permits = new Map(snapshot.permits.map((p) => [p.metadata.uid ?? '', p]))
  for (const grant of ledger.grants()) {
    const permit = permits.get(grant.permitUid)
    const facts = slotFacts(grant, permit, snapshot)
    if (!Object.values(facts).includes(true)) continue
    for (const event of EVENTS) {
      const step = nextSlotState(grant.state, event, facts)
      if (!step.ok) continue
      if (event === 'result') countResult(ledger, levels, snapshot, grant, permit)
      if (step.state === 'Freed') ledger.free(grant)
      else if (step.state !== 'Waiting') ledger.replace({ ...grant, state: step.state })
      break
    }
  }
}

function slotFacts(grant: Grant, permit: OperationPermit | undefined, snapshot: Snapshot): SlotFacts {
  const result = permit?.spec.results?.[grant.target]
  return {
    resultIn: result !== undefined && !isCacheBehind(grant, result, snapshot),
    permitEnded:
      result === undefined &&
      (permit === undefined
        ? snapshot.deletedPermits.has(grant.permitUid)
        : ENDED.has(permit.status?.phase ?? 'Requested')),
    // If readings are missing, no target counts as idle.
    targetIdle: grant.state === 'Orphaned' && snapshot.unknown === undefined && snapshot.isIdle(grant),
    targetDeleted: snapshot.unknown === undefined && snapshot.deletedTargets.has(grant.target),
  }
}

/** A removed machine that is still in the cache would count as serving, and make room for the next removal. */
function isCacheBehind(grant: Grant, result: string, { fleet }: Snapshot): boolean {
  if (result !== 'Succeeded' || !grant.operations.includes('ScaleIn')) return false
  return fleet.find({ ...grant, uid: grant.target }).kind === 'Found'
}

function countResult(
  ledger: WorkingLedger,
  levels: Levels,
  snapshot: Snapshot,
  grant: Grant,
  permit: OperationPermit | undefined,
): void {
  const result = permit?.spec.results?.[grant.target]
  if (permit === undefined || result === undefined || result === 'Released') return
  ledger.add(result === 'Succeeded' ? 'succeeded' : 'failed')
  if (grant.exempt !== undefined) return
  for (const policy of policiesOf(grant, permit, levels, snapshot.policies)) {
    const rule = policy.spec.breaker
    if (rule === undefined) continue
    const entry = breakerAt(ledger.breaker(policy.name) ?? newBreaker(policy.name, ledger.now), rule, ledger.now)
    ledger.setBreaker(afterResult(entry, rule, result === 'Succeeded' ? 's' : 'f', ledger.now))
  }
}

/** A deleted target may have belonged to any policy that decides the operation. */
function policiesOf(
  grant: Grant,
  permit: OperationPermit,
  levels: Levels,
  policies: readonly CompiledPolicy[],
): readonly CompiledPolicy[] {
  const unit = levels.unitOf(grant)
  if (unit !== undefined) return policiesFor(policies, permit, unit)
  return policies.filter((p) => p.spec.mode !== 'Audit' && p.decides(grant.operations))
}
