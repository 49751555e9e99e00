// Checks whether the target is known: it exists, it is the one that was meant, and its health is known, or its own removal has waited for that for too long.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { Found } from '../fleet.ts'
import type { GateVerdict } from '../gate.ts'
import { formatDuration } from '#lib/duration.ts'
import { deny, pass, wait } from '../verdict-of.ts'
import { silentRepair } from '../silent-repair.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Unit } from '../unit.ts'

/**
 * What a machine reports of itself may delay its removal for so long, and no longer: a thief of the key of its agent or kubelet can leave out a condition, write
 * another one, or send heartbeats now and then. As long as an agent that answers may take to leave its host.
 */
const REMOVAL_WAITS_MS = 60 * 60_000

/** The machine was deleted by a person, a set or git an hour ago. In budgets and floors it counts as one that serves. */
const isOverdueRemoval = ({ spec }: OperationPermit, { source }: Unit, wall: number): boolean =>
  source.kind === machineType.kind &&
  spec.operations.every((o) => o === 'ScaleIn') &&
  wall - Date.parse(source.metadata.deletionTimestamp ?? '') >= REMOVAL_WAITS_MS

/** Checks whether the target is known. Without that, no other gate has anything to judge. */
export function targetGate(
  found: Found,
  { permit, uid }: { readonly permit: OperationPermit; readonly uid: string },
  { unknown, deletedTargets, fleet, wall }: Snapshot,
): GateVerdict {
  // Policies apply to operations: without any, none would apply.
  if (permit.spec.operations.length === 0)
    return deny('Target', { reason: 'SafetyReadingUnknown', seen: 'the permit names no operation' })
  if (unknown !== undefined)
    return wait('Target', { reason: 'SafetyReadingUnknown', seen: unknown, retryAfterMs: 5_000 })
  if (found.kind !== 'Found' && deletedTargets.has(uid))
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
  if (repair.kind === 'None' && isOverdueRemoval(permit, found.unit, wall))
    return pass('Target', {
      reason: 'PermitGranted',
      seen: `${seen}; its removal does not wait for that for more than ${formatDuration(REMOVAL_WAITS_MS)}`,
    })
  const silent = repair.kind === 'Outage' ? repair.seen : seen
  return wait('Target', { reason: 'SafetyReadingUnknown', seen: silent, retryAfterMs: 10_000 })
}
