// Keeps this many healthy; and when many fall silent at once, assumes a fault of the network.
import type { GateVerdict } from '../gate.ts'
import { floorLimit } from '../levels.ts'
import type { Ground, Question } from '../question.ts'
import { pass, wait } from '../say.ts'
import { isOutOfService } from '../unit.ts'

/** So many silent at once are a network that is down, until proven otherwise: a share, and a number that chance does not reach in a small fleet. */
const SILENT_SHARE = 0.3
const SILENT_LEAST = 3

function silenceGate({ unit }: Question, { levels }: Ground): readonly GateVerdict[] {
  const { silent, total } = levels.silence(unit.space)
  if (silent < SILENT_LEAST || silent < total * SILENT_SHARE) return []
  const seen = `${silent} of ${total} are silent: looks like the network`
  return [
    wait('HealthFloor', {
      reason: 'SafetyReadingUnknown',
      seen,
      limit: `${SILENT_SHARE * 100} %`,
      retryAfterMs: 30_000,
    }),
  ]
}

export function healthFloorGate(question: Question, ground: Ground): readonly GateVerdict[] {
  const { permit, unit, policies } = question
  // As in budgets: a machine that is booked itself is measured by what is away now.
  const isBooked = ground.ledger.reservationOf(unit.id) !== undefined && permit.spec.operations.includes('Drain')
  const levels = isBooked ? ground.levels.now : ground.levels
  const floors = policies.flatMap((policy) => {
    const floor = policy.spec.healthFloor
    if (floor === undefined) return []
    const total = levels.members(policy, unit.space)
    const down = levels.set(policy, 'unavailable', 'cluster', unit.space, '')
    if (isOutOfService(unit))
      return [pass('HealthFloor', { reason: 'RecoveryExempt', policy, seen: `${unit.name} ${unit.why}` })]
    const left = total - down.size - (down.has(unit.id) ? 0 : 1)
    const limit = floorLimit(floor, total)
    const saying = { policy, seen: `${left} of ${total} would remain healthy`, limit: `at least ${limit}` }
    return [
      left >= limit
        ? pass('HealthFloor', { reason: 'PermitGranted', ...saying })
        : wait('HealthFloor', { reason: 'HealthFloor', ...saying, field: '/healthFloor', count: Math.max(0, left) }),
    ]
  })
  return [...silenceGate(question, ground), ...floors]
}
