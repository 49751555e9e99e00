// Checks whether the target is known: it exists, it is the one that was meant, and its health is known.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Found } from '../fleet.ts'
import type { GateVerdict } from '../gate.ts'
import { deny, pass, wait } from '../say.ts'
import { silentRepair } from '../silent-repair.ts'
import type { Snapshot } from '../snapshot.ts'

/** Checks whether the target is known. Without that, no other gate has anything to judge. */
export function targetGate(
  found: Found,
  { permit, uid }: { readonly permit: OperationPermit; readonly uid: string },
  { unknown, goneTargets, fleet }: Snapshot,
): GateVerdict {
  if (unknown !== undefined)
    return wait('Target', { reason: 'SafetyReadingUnknown', seen: unknown, retryAfterMs: 5_000 })
  if (found.kind !== 'Found' && goneTargets.has(uid))
    return deny('Target', { reason: 'UnknownTarget', seen: 'the target was deleted' })
  if (found.kind !== 'Found') {
    const seen =
      found.kind === 'Absent' ? 'target not found' : 'the target was replaced by another object of the same name'
    return wait('Target', { reason: 'UnknownTarget', seen, retryAfterMs: 10_000 })
  }
  const { health, name, why } = found.unit
  const seen = `${name} ${why}`
  // Also for a machine that already counts as Lost: when a whole place is silent, a long silence does not make one machine the cause.
  const repair = silentRepair(permit, found.unit, fleet)
  if (repair.kind === 'Repair') return pass('Target', { reason: 'SilenceIsTheFault', seen: repair.seen })
  if (repair.kind === 'None' && health !== 'Unknown') return pass('Target', { reason: 'PermitGranted', seen })
  const unheard = repair.kind === 'Outage' ? repair.seen : seen
  return wait('Target', { reason: 'SafetyReadingUnknown', seen: unheard, retryAfterMs: 10_000 })
}
