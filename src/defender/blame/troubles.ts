// Faults that a place may have caused, each with its start time. Faults with another known cause are excluded: work under a permit, a version that
// was just switched, and announced maintenance of the host.
import type { Machine } from '#api/kinds/machine.ts'
import { machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { isOver, standsOff } from '#nodes/faults/maintenance.ts'
import { findCondition } from '#kube/conditions.ts'
import type { Condition } from '#api/schema/object.ts'
import { EVERYTHING } from '../tally.ts'
import type { Unit } from '../unit.ts'
import { type FailingSeen, REMEMBERED_MS, REPAIRER, ROLLOUTS, isDownByItself } from './failing.ts'
import type { FaultFamily, Trouble } from './places.ts'

export interface TroublesSeen extends FailingSeen {
  readonly maintenance: readonly MaintenanceEvent[]
}

export function troublesOf({ permits, grants, fleet, wall, maintenance }: TroublesSeen): readonly Trouble[] {
  const all = permits()
  const granted = new Set(grants.map((g) => g.target))
  const switched = switchedLately(all, wall)
  const announced = new Set(maintenance.filter((e) => standsOff(e) && !e.spec.unplanned).map((e) => e.spec.machine))
  const found = new Map<string, Trouble>()
  const add = (unit: Unit, family: FaultFamily, since: number): void => {
    if (granted.has(unit.id) || switched.has(unit.id) || announced.has(unit.name)) return
    if (unit.source.metadata.deletionTimestamp !== undefined) return
    // The earliest time of a fault counts, whatever the order of the objects.
    const key = `${family} ${unit.id}`
    const known = found.get(key)
    if (known === undefined || since < known.since) found.set(key, { unit, family, since })
  }
  for (const unit of fleet.tally(EVERYTHING, 'machines').troubled) {
    if (unit.isSilent) add(unit, 'Silent', silentSince(unit, wall))
    // A failing component is reported separately, and its own release stops.
    else if (isDownByItself(unit, granted) && unit.badComponents.size === 0) add(unit, 'Down', downSince(unit, wall))
  }
  for (const { metadata, spec, status } of all) {
    const askedAt = Date.parse(metadata.creationTimestamp ?? '') || wall
    const isOpen = status?.phase === undefined || status.phase === 'Requested' || status.phase === 'Granted'
    if (spec.requester.kind !== REPAIRER || (!isOpen && wall - askedAt > REMEMBERED_MS)) continue
    for (const target of spec.targets) {
      const unit = fleet.find(target)
      if (unit.kind === 'Found') add(unit.unit, 'Repair', askedAt)
    }
  }
  const unplanned = new Map(maintenance.filter((e) => e.spec.unplanned && !isOver(e)).map((e) => [e.spec.machine, e]))
  if (unplanned.size > 0)
    for (const unit of fleet.units) {
      const event = unit.source.kind === machine.kind ? unplanned.get(unit.name) : undefined
      if (event !== undefined) add(unit, 'HostEvent', Date.parse(event.metadata.creationTimestamp ?? '') || wall)
    }
  return [...found.values()]
}

/** Machines that were granted a switch within half an hour: the version may be the cause. */
function switchedLately(permits: readonly OperationPermit[], wall: number): ReadonlySet<string> {
  const switched = new Set<string>()
  for (const { spec, status } of permits) {
    const at = Date.parse(status?.endedAt ?? status?.decidedAt ?? '')
    const wasGranted = status?.phase !== undefined && status.phase !== 'Requested' && status.phase !== 'Denied'
    if (!wasGranted || !ROLLOUTS.has(spec.requester.kind ?? '') || !(wall - at <= REMEMBERED_MS)) continue
    for (const { uid } of spec.targets) switched.add(uid)
  }
  return switched
}

const conditionsOf = ({ source }: Unit): readonly Condition[] =>
  (source as { readonly status?: Machine['status'] }).status?.conditions ?? []

const since = (condition: Condition | undefined, wall: number): number =>
  Date.parse(condition?.lastTransitionTime ?? '') || wall

const silentSince = (unit: Unit, wall: number): number => {
  const reachable = findCondition(conditionsOf(unit), 'AgentReachable')
  return reachable !== undefined && reachable.status !== 'True' ? since(reachable, wall) : downSince(unit, wall)
}

const downSince = (unit: Unit, wall: number): number => since(findCondition(conditionsOf(unit), 'Ready'), wall)
