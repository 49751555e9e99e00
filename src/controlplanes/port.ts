// The host of control planes: who runs the API servers of Clusters. All calls may be repeated, and a lost reply does no harm: each names the state that is
// wanted, never a step. The port knows no flavor.

import type { AgentTrust, Rotation } from './credentials/rotation.ts'
import type { ServerCredentials } from './credentials/server-credentials.ts'

export interface ControlPlaneRequest {
  /** `namespace.name` of the Cluster: the same id is the same control plane, also for a Cluster that was made again after its control plane was kept. */
  readonly id: string
  /** The Cluster that it is for; the newest one owns it. */
  readonly owner: string
  /** Of Kubernetes, as the API server reports it: 1.36.0. */
  readonly version: string
  /** Where it listens; the host takes a free port, and keeps it, where none is given. */
  readonly port?: number
  /** How it is built, for a host that builds it of parts. What is left out stays as the host has it. */
  readonly shape?: Partial<ControlPlaneShape>
  readonly upgrade?: UpgradeTerms
  /** For its servers, which take the next ones without a restart. Left out: those that were given before, or else those that the host makes. */
  readonly credentials?: ServerCredentials
  /** For a host that makes the credentials. Left out: no rotation begins, and one of an authority waits. */
  readonly rotation?: RotationRequest
}

export interface RotationRequest {
  /** By authority or key set: a higher number than that of the newest one replaces it. */
  readonly declared: Readonly<Record<string, number>>
  /** What clients of the control plane report; left out when they could not be asked. */
  readonly agents?: readonly AgentTrust[]
}

/** Of credentials that the host makes itself. */
export interface OwnCredentials {
  /** By authority or key set, all that it has: what was declared when the newest one was made. */
  readonly declared: Readonly<Record<string, number>>
  readonly rotations: readonly Rotation[]
  /** When the next certificate is due, or the next phase. */
  readonly renewAt?: number
  /** Print of the authority that signs for clients now. */
  readonly signer: string
}

export interface ControlPlaneShape {
  /** API servers, and what stands beside them. */
  readonly replicas: number
  /** Fixed once it exists, like the network. */
  readonly etcd: { readonly members: number; readonly storage: string; readonly storageClass?: string }
  /** Where clients reach it. `host` is for NodePort: an address at which nodes of the hub answer. Fixed once it is settled. */
  readonly endpoint: { readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer'; readonly host?: string }
  readonly network: { readonly pods: string; readonly services: string; readonly domain: string }
  readonly resources: { readonly cpu?: string; readonly memory?: string }
  /** By part.flag. */
  readonly extraArgs: Readonly<Record<string, string>>
}

/** Of a Cluster that declares none. */
export const DEFAULT_NETWORK: ControlPlaneShape['network'] = {
  pods: '10.244.0.0/16',
  services: '10.96.0.0/16',
  domain: 'cluster.local',
}

/** For a host that upgrades in steps. */
export interface UpgradeTerms {
  readonly soakMs: number
  /** Minors in between are walked one by one. */
  readonly walksMinors: boolean
  /** Name of the snapshot whose restore a person approved. */
  readonly approvedRestore?: string
}

/** A change that takes several calls of `put`. */
interface PlaneChange {
  readonly from: string
  readonly to: string
  /** The step, and what it waits for. */
  readonly message: string
  /** What a return to the version before means now: the programs alone, or a restore of this snapshot. */
  readonly wayBack: 'Programs' | { readonly snapshot: string; readonly since: string }
}

/** `Stopped`: nothing runs, everything is kept. `Failed`: it should run and does not; the host tries again. */
type ControlPlaneState = 'Starting' | 'Running' | 'Stopped' | 'Failed'

/** Names of snapshots that a schedule takes begin so. */
export const SCHEDULED = 'scheduled-'
export const isScheduled = (name: string): boolean => name.startsWith(SCHEDULED)

export interface Snapshot {
  readonly name: string
  readonly takenAt: string
  readonly bytes: number
  /** SHA-256 of the file, in hex, where the host can read the file itself. */
  readonly sha256?: string
  /** Of the store, when it was taken. */
  readonly revision?: number
  /** How many objects a reader found in it: it was opened after it was written. */
  readonly objects: number
  /** Of Kubernetes, when it was taken. */
  readonly version: string
}

/** No volume, or no room in a quota. */
export type TroubleCause = 'QuotaFull' | 'StorageMissing'

export interface ControlPlane {
  readonly id: string
  readonly owner: string
  readonly state: ControlPlaneState
  /** Of Failed and Starting: what was seen. Of Running: the part that is not ready, although the API server answers. */
  readonly message?: string
  /** Of the message, where the hub must be given something first. */
  readonly cause?: TroubleCause
  readonly version: string
  readonly port: number
  /** https://host:port */
  readonly endpoint: string
  /** PEM of the authorities that sign for its server. */
  readonly ca: string
  /** Digest of the credentials that it was given and runs with. */
  readonly credentials?: string
  readonly own?: OwnCredentials
  /** Oldest first. */
  readonly snapshots: readonly Snapshot[]
  /** Since when too few members of its store answer for anything to be written, and how many do. */
  readonly quorumLost?: { readonly since: string; readonly serving: number; readonly members: number }
  /** As its members reported last; left out while they were not asked. */
  readonly store?: StoreState
  readonly members?: MembersState
  /** Name of the snapshot that is being taken: a call of `snapshot` with another name gives it up. */
  readonly taking?: string
  /** The token of the last restore that was done. */
  readonly restored?: string
  /** The snapshot that is being restored; `put` continues it. */
  readonly restoring?: string
  /** Until it is over, `put` is called again and again. */
  readonly change?: PlaneChange
}

/** Of a store with members that are replaced one by one. */
export interface MembersState {
  /** It cannot come back with what it had, and all others serve. */
  readonly lost?: { readonly name: string; readonly since: string; readonly why: string }
  /** How often one was replaced. */
  readonly replaced: number
}

/** The store of a control plane, by its fullest member. */
export interface StoreState {
  readonly bytes: number
  readonly inUseBytes: number
  /** A store of this size refuses writes. */
  readonly quotaBytes: number
  /** Since when it takes none. */
  readonly fullSince?: string
  /** `defragment` would bring writes back, or free much of the files. */
  readonly isWorthDefragmenting: boolean
  /** How often all members were defragmented. */
  readonly defragmented: number
  /** Why the last step for it failed. */
  readonly problem?: string
}

export type PutResult =
  | { readonly kind: 'Plane'; readonly plane: ControlPlane }
  /** Nothing was changed, and nothing will be until the request or the host changes. */
  | { readonly kind: 'Refused'; readonly reason: RefusedReason; readonly message: string }

type RefusedReason = 'EndpointTaken' | 'HostFull' | 'NamespaceTaken' | 'UpgradeRefused' | 'VersionNotServed'

/** `NoSnapshot`: there is none of the name, or it is damaged; nothing was changed. */
export type RestoreResult = 'Restored' | 'NoSnapshot' | 'Gone'

interface Identity {
  readonly user: string
  readonly groups: readonly string[]
  readonly lifeMs: number
}

export interface HostCapabilities {
  /** Whether it makes and renews all credentials itself, and takes none; `put` keeps them and everything else as declared, so it is called again and again. */
  readonly keepsCredentials?: boolean
  /** More than one API server can serve a cluster, so that one can be lost. */
  readonly isHighlyAvailable: boolean
  /** Minors of Kubernetes that it serves, oldest first: 1.36. */
  readonly minors: readonly string[]
  /** How many control planes it runs at most. */
  readonly most: number
}

/** Not done within the time of one call, and why. The next call continues. */
export class NotYet extends Error {}

export interface ControlPlaneHost {
  readonly name: string
  readonly capabilities: HostCapabilities
  /** Makes it, starts it, or upgrades it, whatever is missing. Answers soon; while the answer is Starting, or has a change, it is called again. */
  put(request: ControlPlaneRequest, signal?: AbortSignal): Promise<PutResult>
  /** Undefined only when the host is sure that it does not exist; otherwise it throws. */
  get(id: string, signal?: AbortSignal): Promise<ControlPlane | undefined>
  /** All of them. Complete, or it throws. */
  list(signal?: AbortSignal): Promise<readonly ControlPlane[]>
  /** A kubeconfig for one user of it, signed by its own authority. Every call makes another certificate. Undefined: there is none of this id. */
  kubeconfig(id: string, identity: Identity, signal?: AbortSignal): Promise<string | undefined>
  /** Ends the API server, so that no client writes any more, and keeps everything. */
  stop(id: string, signal?: AbortSignal): Promise<'Stopped' | 'Gone'>
  /** The same name is the same snapshot: a second call answers with the first one's. `withinMs`: how long one call waits at most, where that is left to the host when left out. */
  snapshot(id: string, name: string, signal?: AbortSignal, withinMs?: number): Promise<Snapshot | 'Gone'>
  /** Those of the names count no longer; what a change or a restore under way needs stays. */
  drop(id: string, names: readonly string[], signal?: AbortSignal): Promise<'Dropped' | 'Gone'>
  /** Members one at a time; done once `defragmented` of the store is this number. Only for a host that reports its store. */
  defragment?(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'>
  /** The member that is lost gets an empty volume, and its data from the others; done once `replaced` is this number. Only for a host that reports its members. */
  replaceMember?(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'>
  /** A second call with the same token changes nothing. What was written since the snapshot is lost. */
  restore(
    id: string,
    how: { readonly snapshot: string; readonly token: string },
    signal?: AbortSignal,
  ): Promise<RestoreResult>
  /** Removes everything of it but the snapshot that `keep` names, which stays for a week. `Owned`: it belongs to another Cluster by now, and stays. */
  delete(
    id: string,
    how: { readonly owner: string; readonly keep?: string },
    signal?: AbortSignal,
  ): Promise<'Deleted' | 'Gone' | 'Owned'>
}
