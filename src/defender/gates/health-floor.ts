// Keeps this many healthy; and when many fall silent at once, assumes a fault of the network.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { CLUSTER_LEAVES } from '#api/names.ts'
import { isInForce } from '#holds/in-force.ts'
import type { GateVerdict } from '../gate.ts'
import { floorLimit } from '../levels.ts'
import type { Ground, Question } from '../question.ts'
import { pass, wait } from '../say.ts'
import type { Snapshot } from '../snapshot.ts'
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

/**
 * No machine of a cluster that is being deleted has to stay for its service. The hold alone does not say so for a machine that another operation disrupts, nor does
 * a deletion without it.
 */
const leavesWithCluster = ({ unit }: Question, { holds, wall }: Snapshot): boolean =>
  unit.source.metadata.deletionTimestamp !== undefined &&
  holds.some((hold) => hold.metadata.name === CLUSTER_LEAVES && isLifting(hold) && isInForce(hold, wall))

const isLifting = ({ spec: { effect, target } }: OperationalHold): boolean =>
  effect === 'Unprotect' && target.kind === 'Cluster'

export function healthFloorGate(question: Question, ground: Ground): readonly GateVerdict[] {
  const { permit, unit, policies } = question
  // As in budgets: a machine that is booked itself is measured by what is away now.
  const isBooked = ground.ledger.reservationOf(unit.id) !== undefined && permit.spec.operations.includes('Drain')
  const levels = isBooked ? ground.levels.now : ground.levels
  const isLeaving = leavesWithCluster(question, ground.snapshot)
  const floors = policies.flatMap((policy) => {
    const floor = policy.spec.healthFloor
    if (floor === undefined) return []
    const total = levels.members(policy, unit.space)
    const down = levels.set(policy, 'unavailable', 'cluster', unit.space, '')
    if (isLeaving)
      return [pass('HealthFloor', { reason: 'PermitGranted', policy, seen: 'its whole cluster is being deleted' })]
    if (isOutOfService(unit))
      return [pass('HealthFloor', { reason: 'RecoveryExempt', policy, seen: `${unit.name} ${unit.why}` })]
    const left = total - down.size - (down.has(unit.id) ? 0 : 1)
    const limit = floorLimit(floor, total)
    const away = ground.levels.now.set(policy, 'unavailable', 'cluster', unit.space, '')
    const booked = isBooked ? 0 : down.size - away.size
    const saying = {
      policy,
      seen: `${left} of ${total} would remain healthy${booked > 0 ? `, ${booked} of the others booked for work on their hosts` : ''}`,
      limit: `at least ${limit}`,
    }
    return [
      left >= limit
        ? pass('HealthFloor', { reason: 'PermitGranted', ...saying })
        : wait('HealthFloor', { reason: 'HealthFloor', ...saying, field: '/healthFloor', count: Math.max(0, left) }),
    ]
  })
  return [...silenceGate(question, ground), ...floors]
}
