// The gates of the fleet brake: versions and rules that are stopped everywhere, and whether this cluster may change now. The hub writes the brake; without one there
// is no limit. Returns to a revision that was healthy before pass.
import { BRAKE_NAME, type Stop } from '#api/kinds/fleet-brake.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { rulePart } from '#api/protocol/part.ts'
import { REPAIRER } from '../blame/failing.ts'
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { GOES_BACK, pass, wait } from '../verdict-of.ts'

const ASK_AGAIN_MS = 60_000
const ROLLOUTS: ReadonlySet<string | undefined> = new Set([machineComponentSet.kind, componentCanary.kind])

export function fleetStopGate({ permit, isRecovery }: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  const stop = (snapshot.brake?.stops ?? []).find((s) => s.liftedAt === undefined && isStopped(permit, s))
  if (stop === undefined) return []
  const { name, version, seen } = stop
  const what = stop.kind === 'Component' ? `${name} ${version} ` : stop.kind === 'Rule' ? `rule ${name}: ` : ''
  if (isRecovery) return [pass('FleetStop', { reason: 'RecoveryExempt', seen: GOES_BACK })]
  return [
    wait('FleetStop', {
      reason: 'FleetStopped',
      seen: `${what}${seen}`,
      limit: 'stopped in all clusters until it is lifted on the hub',
      retryAfterMs: ASK_AGAIN_MS,
    }),
  ]
}

function isStopped({ spec }: OperationPermit, { kind, name, version, config }: Stop): boolean {
  const { requester, component, operations } = spec
  switch (kind) {
    case 'Everything':
      return true
    case 'Rule': {
      if (requester.kind !== REPAIRER) return false
      // A repair whose rule is unknown may be a stopped one.
      return requester.part === undefined || requester.part === rulePart(name)
    }
    case 'Component':
      return (
        operations.includes('SwitchComponent') &&
        component?.name === name &&
        (component.version === undefined || component.version === version) &&
        (config === undefined || component.config === undefined || component.config === config)
      )
    default:
      return kind satisfies never
  }
}

/** The last gate: a cluster that waits for another gate must not take a turn from one that could use it. */
export function fleetTurnGate({ permit, isRecovery }: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  const { brake, wall } = snapshot
  // Sync grants turns to Clusters, not to the hub's own machines.
  if (brake?.maxChanging === undefined || brake.cluster === undefined) return []
  const { requester, operations } = permit.spec
  if (!ROLLOUTS.has(requester.kind) || !operations.includes('SwitchComponent')) return []
  if (isRecovery) return [pass('FleetTurn', { reason: 'RecoveryExempt', seen: GOES_BACK })]
  const turn = brake.turns?.find(({ cluster }) => cluster === brake.cluster)
  if (turn !== undefined && wall < Date.parse(turn.until)) return [pass('FleetTurn', { reason: 'PermitGranted' })]
  return [
    wait('FleetTurn', {
      reason: 'FleetBudget',
      seen:
        turn === undefined
          ? 'the hub has not given this cluster its turn yet'
          : `the turn of this cluster ended at ${turn.until}`,
      limit: `at most ${brake.maxChanging} clusters of the fleet change at once: the limit of FleetBrake ${BRAKE_NAME}`,
      retryAfterMs: ASK_AGAIN_MS,
    }),
  ]
}
