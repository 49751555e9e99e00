// Whether the target can be told at all: it is there, it is the one that was meant, and its health is known.
import type { Found } from '../fleet.ts'
import type { GateVerdict } from '../gate.ts'
import { deny, pass, wait } from '../say.ts'
import type { Snapshot } from '../snapshot.ts'

/** Whether the target can be told at all. Without this no other gate has anything to look at. */
export function targetGate(found: Found, uid: string, { unknown, goneTargets }: Snapshot): GateVerdict {
  if (unknown !== undefined)
    return wait('Target', { reason: 'SafetyReadingUnknown', seen: unknown, retryAfterMs: 5_000 })
  if (found.kind !== 'Found' && goneTargets.has(uid))
    return deny('Target', { reason: 'UnknownTarget', seen: 'the target is gone' })
  if (found.kind !== 'Found') {
    const seen = found.kind === 'Absent' ? 'there is no such object' : 'the name belongs to another object'
    return wait('Target', { reason: 'UnknownTarget', seen, retryAfterMs: 10_000 })
  }
  const { health, name, why } = found.unit
  const seen = `${name} ${why}`
  return health === 'Unknown'
    ? wait('Target', { reason: 'SafetyReadingUnknown', seen, retryAfterMs: 10_000 })
    : pass('Target', { reason: 'PermitGranted', seen })
}
