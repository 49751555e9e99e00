// Whether a permit is for the repair of the very silence that keeps the target's health unknown. Unknown blocks, since what nobody sees may serve; a
// machine of which neither agent nor kubelet is heard, which its provider knows, and which is alone in that, is what such a repair is for.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { disruptionFacts } from '#api/protocol/operations.ts'
import { findCondition } from '#kube/conditions.ts'
import { isMass } from '#faults/mass.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { REPAIRER } from './blame/failing.ts'
import type { FleetView } from './fleet.ts'
import type { Unit } from './unit.ts'

export type SilentRepair =
  | { readonly kind: 'Repair'; readonly seen: string }
  /** Others of its place are silent too: the place is. */
  | { readonly kind: 'Outage'; readonly seen: string }
  | { readonly kind: 'None' }

/** What one cause can silence together; the whole is looked at by the health floor. */
const PLACES = ['zone', 'rack'] as const

export function silentRepair(
  { spec }: Pick<OperationPermit, 'spec'>,
  unit: Unit,
  { units }: Pick<FleetView, 'units'>,
): SilentRepair {
  const isRepair = spec.requester.kind === REPAIRER && spec.operations.every((o) => disruptionFacts(o).isFromOutside)
  if (!isRepair || !unit.isCutOff || !isKnownToProvider(unit)) return { kind: 'None' }
  for (const place of PLACES) {
    // Machines that name none are in one together: nobody knows that they are not.
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
