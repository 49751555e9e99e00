// What is known of one Cluster with a control plane on the hub: what every decision about it is made from.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { AgentTrust } from '#controlplanes/credentials/rotation.ts'
import type { ControlPlane, HostCapabilities } from '#controlplanes/port.ts'
import type { ClusterCaps } from './plan-lifetime.ts'

/** The Secret with the kubeconfig of sync, as far as it tells whether it is still good. */
export interface KubeconfigSeen {
  /** The uid of the Cluster that it was made for; undefined for a Secret that a person made, which is left alone. */
  readonly owner: string | undefined
  readonly endpoint: string | undefined
  readonly ca: string | undefined
  /** Prints of the authorities in it, and of the one that signed its certificate. */
  readonly authorities: readonly string[]
  readonly signedBy: string | undefined
  /** When its certificate was made, and when it ends. */
  readonly from: number
  readonly until: number
}

export interface Seen {
  readonly cluster: Cluster
  /** As the host tells it; undefined when it has none. */
  readonly plane: ControlPlane | undefined
  readonly host: { readonly name: string; readonly capabilities: HostCapabilities }
  /** What was seen when the host could not be asked. Nothing is done then. */
  readonly unanswered: string | undefined
  readonly kubeconfig: KubeconfigSeen | undefined
  /** All that were requested for this Cluster. */
  readonly permits: readonly OperationPermit[]
  /** For how long those that ended have been over. */
  readonly endedFor: EndedFor
  /** Digests of what persons approved, as far as it counts now. */
  readonly approved: ReadonlySet<string>
  /** Machines that its own API server still has; undefined when it was not asked, or did not answer. */
  readonly machines: readonly string[] | undefined
  /** What the agents of its machines trust; undefined when they were not asked, or could not be. */
  readonly agents: readonly AgentTrust[] | undefined
  /** Version of the addons that every control plane gets. */
  readonly addons: string
  readonly holds: readonly OperationalHold[]
  /** An Inventory of the hub lists this very object, and no commit has removed it since. */
  readonly isDeclared: boolean
  /** What policies allow. */
  readonly caps: ClusterCaps
  /** All Clusters with a control plane on the hub; empty where no limit counts them. */
  readonly hosted: readonly Cluster[]
}

export type ControlPlaneSpec = NonNullable<Cluster['spec']['controlPlane']>

export const idOf = ({ metadata: { namespace = '', name = '' } }: Cluster): string => `${namespace}.${name}`
