// Keeps a minimum number healthy. If many units fall silent at once, assumes a network problem.
import { takesAvailability } from '#api/protocol/operations.ts'
import { isClusterLeaving } from '#permits/holds/cluster-leaves.ts'
import { counted } from '#lib/counted.ts'
import type { GateVerdict } from '../gate.ts'
import type { CompiledPolicy } from '../compile-policy.ts'
import { type Budget, type FloorGround, type Levels, floorLimit, neverHasRoom } from '../levels.ts'
import type { GateContext, Question } from '../question.ts'
import { KEEPS_SERVING, pass, wait } from '../verdict-of.ts'
import type { Snapshot } from '../snapshot.ts'
import { type Unit, isOutOfService } from '../unit.ts'

/** If this many are silent at once, assume a network outage: a share, and a number that a small fleet does not reach by chance. */
const SILENT_SHARE = 0.3
const SILENT_LEAST = 3

function silenceGate({ unit }: Question, { levels }: GateContext): readonly GateVerdict[] {
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
 * No machine of a cluster that is being deleted must stay for its service. The hold alone is not enough if another operation disrupts the machine,
 * and neither is a deletion without the hold.
 */
const leavesWithCluster = ({ unit }: Question, { holds, wall }: Snapshot): boolean =>
  unit.source.metadata.deletionTimestamp !== undefined && isClusterLeaving(holds, wall)

/** Without the unit itself. */
const awayNames = (levels: Levels, policy: CompiledPolicy, { id, space }: Unit): readonly string[] => {
  const down = [...levels.set(policy, 'unavailable', 'cluster', space, '')].filter((other) => other !== id)
  return down.map((other, n) => (n === 0 ? levels.nameOf(other, policy, space) : other))
}

interface Shortfall {
  readonly policy: CompiledPolicy
  readonly floor: Budget['max']
  readonly members: FloorGround
  readonly limit: number
  readonly left: number
  /** The others that are unavailable or being disrupted, the first by name. */
  readonly away: readonly string[]
}

/** What makes room again, and who must act. A floor that even a healthy fleet does not meet never frees by itself. */
function floorCure({ policy, floor, members, limit, left, away }: Shortfall): string {
  if (neverHasRoom(floor, members.total))
    return `no room even where all are healthy: lower healthFloor ${floor} of policy ${policy.name}, or add machines`
  if (members.total - 1 < limit) return `room again once ${counted(members.coming, 'new machine')} of MachineSets serve`
  const [first = ''] = away
  if (away.length === 1) return `room again once ${first} is healthy and no operation runs on it`
  return `room again once ${limit - left} of the ${away.length} that are away or being worked on are healthy (${first}, …)`
}

export function healthFloorGate(question: Question, context: GateContext): readonly GateVerdict[] {
  const { permit, unit, policies } = question
  // As in budgets: a reserved machine is measured against what is unavailable now.
  const isBooked = context.ledger.reservationOf(unit.id) !== undefined && permit.spec.operations.includes('Drain')
  const levels = isBooked ? context.levels.now : context.levels
  const isLeaving = leavesWithCluster(question, context.snapshot)
  const floors = policies.flatMap((policy) => {
    const floor = policy.spec.healthFloor
    if (floor === undefined) return []
    if (isLeaving)
      return [pass('HealthFloor', { reason: 'PermitGranted', policy, seen: 'its whole cluster is being deleted' })]
    if (isOutOfService(unit))
      return [pass('HealthFloor', { reason: 'RecoveryExempt', policy, seen: `${unit.name} ${unit.why}` })]
    if (!takesAvailability(permit.spec.operations))
      return [pass('HealthFloor', { reason: 'PermitGranted', policy, seen: KEEPS_SERVING })]
    const members = levels.members(policy, unit.space)
    const down = levels.set(policy, 'unavailable', 'cluster', unit.space, '')
    const left = members.total - down.size - (down.has(unit.id) ? 0 : 1)
    const limit = floorLimit(floor, members)
    const away = context.levels.now.set(policy, 'unavailable', 'cluster', unit.space, '')
    const booked = isBooked ? 0 : down.size - away.size
    const isMet = left >= limit
    const parts = {
      policy,
      seen: [
        `${left} of ${members.total} would remain healthy${booked > 0 ? `, ${booked} of the others booked for work on their hosts` : ''}`,
        // Host maintenance ends on its own, and has its own line with the time.
        ...(isMet || booked > 0
          ? []
          : [floorCure({ policy, floor, members, limit, left, away: awayNames(levels, policy, unit) })]),
      ].join('; '),
      limit: `at least ${limit}`,
    }
    return [
      isMet
        ? pass('HealthFloor', { reason: 'PermitGranted', ...parts })
        : wait('HealthFloor', { reason: 'HealthFloor', ...parts, field: '/healthFloor', count: Math.max(0, left) }),
    ]
  })
  return [...silenceGate(question, context), ...floors]
}
