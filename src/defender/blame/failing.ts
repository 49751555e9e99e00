// Finds the machines that count as failing for blame: those with a recent repair request, and those that are unavailable without a permit for a
// disruption.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { FleetView } from '../fleet.ts'
import type { Grant } from '../ledger.ts'
import { EVERYTHING } from '../tally.ts'
import type { Unit } from '../unit.ts'

/** Repairs with one cause arrive within this time: detector periods, hold-downs and rollout slices added up. */
export const REMEMBERED_MS = 30 * 60_000

export const REPAIRER = 'RemedyOperationJob'

/** Requesters whose permits change many machines. */
export const ROLLOUTS: ReadonlySet<string> = new Set([machineComponentSet.kind, componentCanary.kind])

/** Phases in which a machine should serve. */
const SERVING: ReadonlySet<string> = new Set(['Ready', 'NotReady', 'Updating'])

export interface FailingSeen {
  /** Including ended ones. */
  readonly permits: () => readonly OperationPermit[]
  readonly grants: readonly Grant[]
  readonly fleet: FleetView
  /** Wall clock of the API server, which timestamped the permits. */
  readonly wall: number
}

/** A request from the future counts as new. */
export function failingUnits({ permits, grants, fleet, wall }: FailingSeen): ReadonlySet<Unit> {
  const failing = new Set<Unit>()
  for (const { metadata, spec, status } of permits()) {
    if (spec.requester.kind !== REPAIRER) continue
    const isOpen = status?.phase === undefined || status.phase === 'Requested' || status.phase === 'Granted'
    if (!isOpen && wall - Date.parse(metadata.creationTimestamp ?? '') > REMEMBERED_MS) continue
    for (const target of spec.targets) {
      const found = fleet.find(target)
      if (found.kind === 'Found') failing.add(found.unit)
    }
  }
  const granted = new Set(grants.map((g) => g.target))
  for (const unit of fleet.tally(EVERYTHING, 'machines').troubled) if (isDownByItself(unit, granted)) failing.add(unit)
  return failing
}

export function isDownByItself({ id, source, health }: Unit, granted: ReadonlySet<string>): boolean {
  if (health !== 'Unavailable' || source.kind !== machine.kind || granted.has(id)) return false
  return SERVING.has((source as Machine).status?.phase ?? '')
}
