// Data read from a fleet on this machine, for its progress and its remaining waits.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { StoppedProgram } from '../programs.ts'

/** Data read from a business cluster; undefined parts could not be read. */
export interface ClusterSeen {
  readonly name: string
  readonly isReachable: boolean
  readonly machines: readonly Machine[]
  readonly machineSets: readonly MachineSet[]
  readonly sets: readonly MachineComponentSet[]
  readonly jobs: readonly RemedyOperationJob[]
  readonly remediers?: readonly NodeRemedier[]
  /** When each machine's agent last sent a heartbeat. */
  readonly lastHeartbeats: ReadonlyMap<string, number>
  readonly stopped?: readonly StoppedProgram[]
}

export interface HubSeen {
  readonly isReachable: boolean
  readonly sources: readonly FleetSource[]
  readonly releases: readonly Release[]
  /** All Clusters; undefined when they could not be read. */
  readonly clusters?: readonly Cluster[]
  readonly stopped?: readonly StoppedProgram[]
}

export interface FleetSeen {
  /** When it was read, in wall clock time. */
  readonly at?: number
  readonly hub: HubSeen
  readonly clusters: readonly ClusterSeen[]
}

/** The local name of the Cluster; undefined for a registered one that runs elsewhere. */
export function nameHere({ spec, metadata: { namespace = '', name = '' } }: Cluster): string | undefined {
  if (spec.controlPlane === undefined) return undefined
  return namespace === SYSTEM_NAMESPACE ? name : `${namespace}.${name}`
}

/** A line about one cluster, with a label if the cluster has several. */
export interface Progress {
  /** Name of the cluster. */
  readonly of: string
  readonly label?: 'newest' | 'attention' | 'rollout' | 'repair'
  readonly text: string
}
