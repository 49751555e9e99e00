// Decides whether a permit repairs the silence that makes the target's health unknown. Unknown normally blocks, since a machine that we cannot
// observe may still serve. Such a repair is only for a single machine with a silent agent and a silent kubelet that its provider still knows.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { disruptionFacts } from '#api/protocol/operations.ts'
import { findCondition } from '#kube/conditions.ts'
import { isMass } from '#nodes/faults/mass.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { REPAIRER } from './blame/failing.ts'
import type { FleetView } from './fleet.ts'
import type { Unit } from './unit.ts'

export type SilentRepair =
  | { readonly kind: 'Repair'; readonly seen: string }
  /** Others in the same place are silent too, so the place has the problem. */
  | { readonly kind: 'Outage'; readonly seen: string }
  | { readonly kind: 'None' }

/** Places that one cause can silence together. The health floor covers the whole cluster. */
const PLACES = ['zone', 'rack'] as const

export function silentRepair(
  { spec }: Pick<OperationPermit, 'spec'>,
  unit: Unit,
  { units }: Pick<FleetView, 'units'>,
): SilentRepair {
  const isRepair = spec.requester.kind === REPAIRER && spec.operations.every((o) => disruptionFacts(o).isFromOutside)
  if (!isRepair || !unit.isCutOff || !isKnownToProvider(unit)) return { kind: 'None' }
  for (const place of PLACES) {
    // Machines without a name for the place count as one place: they may really share one.
    const name = unit[place]
    const there = units.filter((u) => u.space === unit.space && u[place] === name)
    const silent = there.filter((u) => u.isSilent).length
    if (isMass(silent, there.length))
      return {
        kind: 'Outage',
        seen: `${silent} of ${there.length} in ${place} ${name === '' ? '(none)' : name} are silent: looks like the network`,
      }
  }
  return {
    kind: 'Repair',
    seen: `no heartbeat from agent or kubelet of ${unit.name}, which is the fault to repair; its provider still knows the host`,
  }
}

/** A machine that is switched off is known too: a reboot switches it on. */
function isKnownToProvider({ source }: Unit): boolean {
  if (source.kind !== machineType.kind) return false
  const host = findCondition((source as Machine).status?.conditions, 'InfrastructureReady')
  return host?.status === 'True' || host?.reason === 'HostStopped'
}
