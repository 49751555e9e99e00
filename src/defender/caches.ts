// The kinds that the Defender watches, and whether decisions may use the caches' content.
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { messageOf } from '#lib/errors.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { podType } from '#nodes/objects.ts'
import { OWN_PODS } from '#nodes/own-pods.ts'

export const nodeType = coreKind('Node')

export const BY_COMPONENT = 'component-version'
export const componentKey = (component: string, version: string): string => `${component}@${version}`

export interface CacheOptions {
  /** Clusters are targets only on the hub. */
  readonly withClusters: boolean
}

export function createCaches(informers: Informers, { withClusters }: CacheOptions) {
  const indexes = {
    [BY_COMPONENT]: (c: { readonly spec: { readonly component: string; readonly version: string } }) => [
      componentKey(c.spec.component, c.spec.version),
    ],
  }
  return {
    permits: informers.of(operationPermit),
    policies: informers.of(defenderPolicy),
    holds: informers.of(operationalHold),
    inventories: informers.of(inventory),
    approvals: informers.of(approval),
    brakes: informers.of(fleetBrake),
    machines: informers.of(machine),
    maintenance: informers.of(maintenanceEvent),
    nodes: informers.of(nodeType),
    /** Without them it is unknown which machines may be disrupted together. */
    pods: informers.of(podType, { selection: OWN_PODS }),
    sets: informers.of(machineComponentSet),
    components: informers.of(machineComponent, { indexes }),
    clusters: withClusters ? informers.of(cluster) : undefined,
  }
}

export type Caches = ReturnType<typeof createCaches>

const allCaches = (caches: Caches): readonly SharedInformer[] => Object.values(caches).filter((c) => c !== undefined)

/** Why decisions must not use the caches. Undefined: they may. */
export function staleness(caches: Caches): string | undefined {
  try {
    requireFresh(allCaches(caches))
    return undefined
  } catch (e) {
    return messageOf(e)
  }
}
