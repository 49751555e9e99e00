// The inputs of every decision about one Cluster with a control plane on the hub.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { HostedProgram } from '#api/names.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { AgentTrust } from '#controlplanes/credentials/rotation.ts'
import type { Recipes } from './addons/recipes.ts'
import type { ControlPlane, HostCapabilities } from '#controlplanes/port.ts'
import type { ClusterReadiness } from '#controlplanes/upgrade/seen.ts'
import type { ClusterCaps } from './plan-lifetime.ts'

/** The Secret with sync's kubeconfig, reduced to what shows whether it is still valid. */
export interface KubeconfigSeen {
  /** The uid of the Cluster it was created for. Undefined for a Secret that a person created; that one is left alone. */
  readonly owner: string | undefined
  readonly endpoint: string | undefined
  readonly ca: string | undefined
  /** Fingerprints of its authorities, and of the one that signed its certificate. */
  readonly authorities: readonly string[]
  readonly signedBy: string | undefined
  /** When its certificate starts and ends. */
  readonly from: number
  readonly until: number
}

/** The leader in the cluster itself decides who acts there, so its Lease shows a program that runs, wherever that is. */
export type Leaders =
  | { readonly kind: 'Read'; readonly without: readonly HostedProgram[] }
  | { readonly kind: 'Unread'; readonly why: string }

/** The Deployments of the programs in the cluster itself. */
export type PodsSeen =
  | { readonly kind: 'Read'; readonly waiting: readonly WaitingPods[] }
  | { readonly kind: 'Unread'; readonly why: string }

/** Why the pods of a program cannot pull their image. */
export interface PullTrouble {
  readonly why: string
  /** Secrets for pulling that the Deployment names and that do not exist. */
  readonly missingSecrets: readonly string[]
}

/** Not all pods of a program are as declared. */
export interface WaitingPods {
  readonly program: HostedProgram
  /** Pods that are available all the same. */
  readonly available: number
  readonly why: string
  /** Their nodes cannot pull the image. */
  readonly pull?: PullTrouble | undefined
}

export interface ProgramsSeen {
  readonly kubeconfigs: Readonly<Partial<Record<HostedProgram, KubeconfigSeen>>>
  /** Undefined if they were not asked for: nothing was deployed into the cluster. */
  readonly pods?: PodsSeen | undefined
  /** Objects of theirs are in the cluster, and the status does not say so: it was lost, or the cluster was restored. Undefined if not asked or unknown. */
  readonly isLeft?: boolean | undefined
  /** Those that a replica on the hub runs for the Cluster, as leader or waiting for the Lease. Undefined if they were not asked for. */
  readonly hosted?: ReadonlySet<HostedProgram> | undefined
  /** This hub has the objects of programs that run in a cluster. */
  readonly isOffered?: boolean
  /** Why its objects cannot be read. */
  readonly unreadable?: string
  /** Undefined if they were not asked for: the control plane does not run, or the hub runs no programs for it. */
  readonly leaders: Leaders | undefined
}

export interface Seen {
  readonly cluster: Cluster
  /** As reported by the host. Undefined if the host has none. */
  readonly plane: ControlPlane | undefined
  readonly host: { readonly name: string; readonly capabilities: HostCapabilities }
  /** Why the host did not answer. Nothing is done in that case. */
  readonly unanswered: string | undefined
  readonly kubeconfig: KubeconfigSeen | undefined
  /** Undefined if this hub runs no programs for its Clusters. */
  readonly programs?: ProgramsSeen | undefined
  /** All permits requested for this Cluster. */
  readonly permits: readonly OperationPermit[]
  /** How long ended permits have been over. */
  readonly endedFor: EndedFor
  /** Digests of approvals by people that are in force now. */
  readonly approved: ReadonlySet<string>
  /** Machines still in its own API server. Undefined if it was not asked or did not answer. */
  readonly machines: readonly string[] | undefined
  /** What the agents of its machines trust. Undefined if they were not asked or did not answer. */
  readonly agents: readonly AgentTrust[] | undefined
  /** What blocks an upgrade. Undefined while no other version is declared, and for hosts that check this themselves. */
  readonly readiness: ClusterReadiness | undefined
  /** Version of the addons for every control plane. */
  readonly addons: string
  /** Of the addons that the Cluster names with one. */
  readonly recipes?: Recipes
  readonly holds: readonly OperationalHold[]
  /** An Inventory of the hub lists this exact object, and no commit has removed it since. */
  readonly isDeclared: boolean
  /** Limits of the policies. */
  readonly caps: ClusterCaps
  /** All Clusters with a control plane on the hub. Empty if no limit counts them. */
  readonly hosted: readonly Cluster[]
}

export type ControlPlaneSpec = NonNullable<Cluster['spec']['controlPlane']>

export const idOf = ({ metadata: { namespace = '', name = '' } }: Cluster): string => `${namespace}.${name}`

/** Nothing was changed; the check repeats every 30 s. */
export const UPGRADE_UNBLOCK =
  'each of these is fixed (the upgrade then starts by itself), or a commit accepts it in controlPlane.accept, or names another version'
