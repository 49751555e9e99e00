// Checks that the target is known: it exists, it is the requested one, and its health is known, or its own removal has waited too long for that.
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
 * A machine's own reports may delay its removal only this long. A thief of its agent's or kubelet's key can omit a condition, write another one, or
 * send occasional heartbeats. As long as a live agent may take to leave its host.
 */
const REMOVAL_WAITS_MS = 60 * 60_000

/** A person, a set or git deleted the machine an hour ago. In budgets and floors it counts as serving. */
const isOverdueRemoval = ({ spec }: OperationPermit, { source }: Unit, wall: number): boolean =>
  source.kind === machineType.kind &&
  spec.operations.every((o) => o === 'ScaleIn') &&
  wall - Date.parse(source.metadata.deletionTimestamp ?? '') >= REMOVAL_WAITS_MS

/** Checks that the target is known. Otherwise no other gate has anything to check. */
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
  // Also for a machine that is already Lost: if a whole place is silent, a long silence does not make one machine the cause.
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
