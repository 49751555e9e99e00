// The control plane host: runs the API servers of Clusters. All calls may be repeated, and a lost reply does no harm: each names the desired state, never a
// step. The port is independent of the flavor.

import type { Acceptable } from '#api/kinds/cluster.ts'
import type { AgentTrust, Rotation } from './credentials/rotation.ts'
import type { ServerCredentials } from './credentials/server-credentials.ts'

export interface ControlPlaneRequest {
  /** `namespace.name` of the Cluster. The same id is the same control plane, even for a recreated Cluster whose control plane was kept. */
  readonly id: string
  /** The Cluster that owns it; the newest one wins. */
  readonly owner: string
  /** The Kubernetes version that the API server reports: 1.36.0. */
  readonly version: string
  /** Where it listens; if left out, the host picks a free port and keeps it. */
  readonly port?: number
  /** Its structure, for a host that builds it from parts. Fields left out stay as they are. */
  readonly shape?: Partial<ControlPlaneShape>
  readonly upgrade?: UpgradeTerms
  /** For its servers, which switch to new ones without a restart. If left out: the previous ones, or those the host creates. */
  readonly credentials?: ServerCredentials
  /** For a host that creates the credentials. If left out, no rotation starts, and an authority's rotation waits. */
  readonly rotation?: RotationRequest
}

export interface RotationRequest {
  /** By authority or key set: a number above the newest one's replaces it. */
  readonly declared: Readonly<Record<string, number>>
  /** What clients of the control plane report; left out if they could not be asked. */
  readonly agents?: readonly AgentTrust[]
}

/** Credentials that the host creates itself. */
export interface OwnCredentials {
  /** For each of its authorities and key sets, the declared number when its newest one was created. */
  readonly declared: Readonly<Record<string, number>>
  readonly rotations: readonly Rotation[]
  /** When the next certificate or phase is due. */
  readonly renewAt?: number
  /** Fingerprint of the authority that signs for clients now. */
  readonly signer: string
}

export interface ControlPlaneShape {
  /** API servers and the programs next to them. */
  readonly replicas: number
  /** Fixed once it exists, like the network. */
  readonly etcd: { readonly members: number; readonly storage: string; readonly storageClass?: string }
  /** Where clients reach it. `host` is for NodePort: an address at which the hub's nodes answer. Fixed once chosen. */
  readonly endpoint: { readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer'; readonly host?: string }
  readonly network: { readonly pods: string; readonly services: string; readonly domain: string }
  readonly resources: { readonly cpu?: string; readonly memory?: string }
  /** Keyed by part.flag. */
  readonly extraArgs: Readonly<Record<string, string>>
}

/** For a Cluster that declares none. */
export const DEFAULT_NETWORK: ControlPlaneShape['network'] = {
  pods: '10.244.0.0/16',
  services: '10.96.0.0/16',
  domain: 'cluster.local',
}

/** For a host that upgrades in steps. */
export interface UpgradeTerms {
  readonly soakMs: number
  /** Walks skipped minors one by one. */
  readonly walksMinors: boolean
  /** Checks before an upgrade whose problems a commit accepts. */
  readonly accepts?: readonly Acceptable[]
  /** Name of the snapshot whose restore a user approved. */
  readonly approvedRestore?: string
}

/** A change that takes several calls of `put`. */
interface PlaneChange {
  readonly from: string
  readonly to: string
  /** The step, and what it waits for. */
  readonly message: string
  /** What going back to the previous version takes now: only the old programs, or a restore of this snapshot. */
  readonly wayBack: 'Programs' | { readonly snapshot: string; readonly since: string }
}

/** `Stopped`: nothing runs, everything is kept. `Failed`: it should run but does not; the host retries. */
type ControlPlaneState = 'Starting' | 'Running' | 'Stopped' | 'Failed'

/** Prefix of snapshots taken on a schedule. */
export const SCHEDULED = 'scheduled-'
export const isScheduled = (name: string): boolean => name.startsWith(SCHEDULED)

export interface Snapshot {
  readonly name: string
  readonly takenAt: string
  readonly bytes: number
  /** SHA-256 of the file in hex, if the host can read the file. */
  readonly sha256?: string
  /** The store's revision at that time. */
  readonly revision?: number
  /** How many objects a reader found in it: every snapshot is opened after it is written. */
  readonly objects: number
  /** The Kubernetes version at that time. */
  readonly version: string
}

/** No volume, or no room in a quota. */
export type TroubleCause = 'QuotaFull' | 'StorageMissing'

export interface ControlPlane {
  readonly id: string
  readonly owner: string
  readonly state: ControlPlaneState
  /** For Failed and Starting: the problem. For Running: the part that is not ready although the API server answers. */
  readonly message?: string
  /** The message's cause, if the hub has to provide something first. */
  readonly cause?: TroubleCause
  readonly version: string
  readonly port: number
  /** https://host:port */
  readonly endpoint: string
  /** PEM of the authorities that sign for its server. */
  readonly ca: string
  /** Digest of the given credentials that it runs with. */
  readonly credentials?: string
  readonly own?: OwnCredentials
  /** Oldest first. */
  readonly snapshots: readonly Snapshot[]
  /** Set while too few members of its store answer for writes: since when, and how many answer. */
  readonly quorumLost?: { readonly since: string; readonly serving: number; readonly members: number }
  /** As last reported by its members; left out if they were not asked. */
  readonly store?: StoreState
  readonly members?: MembersState
  /** Name of the snapshot in progress: calling `snapshot` with another name abandons it. */
  readonly taking?: string
  /** The token of the last completed restore. */
  readonly restored?: string
  /** The snapshot that is being restored; `put` continues it. */
  readonly restoring?: string
  /** While set, call `put` again until it is done. */
  readonly change?: PlaneChange
}

/** A store whose members are replaced one by one. */
export interface MembersState {
  /** This member cannot return with its data, and all others serve. */
  readonly lost?: { readonly name: string; readonly since: string; readonly why: string }
  /** How many replacements were done. */
  readonly replaced: number
}

/** A control plane's store, by its fullest member. */
export interface StoreState {
  readonly bytes: number
  readonly inUseBytes: number
  /** A store of this size refuses writes. */
  readonly quotaBytes: number
  /** Since when it refuses writes. */
  readonly fullSince?: string
  /** `defragment` would restore writes, or free much of the files. */
  readonly isWorthDefragmenting: boolean
  /** How often all members were defragmented. */
  readonly defragmented: number
  /** Why the last maintenance step failed. */
  readonly problem?: string
}

export type PutResult =
  | { readonly kind: 'Plane'; readonly plane: ControlPlane }
  /** Nothing was changed, and nothing will be until the request or the host changes. */
  | { readonly kind: 'Refused'; readonly reason: RefusedReason; readonly message: string }

type RefusedReason = 'EndpointTaken' | 'HostFull' | 'NamespaceTaken' | 'UpgradeRefused' | 'VersionNotServed'

/** `NoSnapshot`: it does not exist or is damaged; nothing was changed. */
export type RestoreResult = 'Restored' | 'NoSnapshot' | 'Gone'

interface Identity {
  readonly user: string
  readonly groups: readonly string[]
  readonly lifeMs: number
}

/** Schedule of Clusters that declare none. */
export interface SnapshotDefault {
  readonly every: string
  readonly keep: number
}

export interface HostCapabilities {
  readonly snapshots?: SnapshotDefault
  /** The host creates and renews all credentials itself and accepts none. `put` keeps them and everything else as declared, so call it again and again. */
  readonly keepsCredentials?: boolean
  /** Several API servers can serve a cluster, so that it survives the loss of one. */
  readonly isHighlyAvailable: boolean
  /** The Kubernetes minors it serves, oldest first: 1.36. */
  readonly minors: readonly string[]
  /** The maximum number of control planes. */
  readonly most: number
}

/** Not done within the time of one call, with the reason. The next call continues. */
export class NotYet extends Error {}

export interface ControlPlaneHost {
  readonly name: string
  readonly capabilities: HostCapabilities
  /** Creates, starts or upgrades it, whatever is missing. Returns soon; call again while the result is Starting or has a change. */
  put(request: ControlPlaneRequest, signal?: AbortSignal): Promise<PutResult>
  /** Undefined only if the host is sure that it does not exist; otherwise it throws. */
  get(id: string, signal?: AbortSignal): Promise<ControlPlane | undefined>
  /** All control planes. Complete, or it throws. */
  list(signal?: AbortSignal): Promise<readonly ControlPlane[]>
  /** A kubeconfig for one user, signed by the control plane's own authority. Every call issues a new certificate. Undefined if the id does not exist. */
  kubeconfig(id: string, identity: Identity, signal?: AbortSignal): Promise<string | undefined>
  /** Stops the API server, so that no client can write, and keeps everything. */
  stop(id: string, signal?: AbortSignal): Promise<'Stopped' | 'Gone'>
  /**
   * The same name is the same snapshot: a second call returns the first one's result. `withinMs`: the longest wait of one call; the host decides if left out.
   */
  snapshot(id: string, name: string, signal?: AbortSignal, withinMs?: number): Promise<Snapshot | 'Gone'>
  /** These snapshots no longer count; those needed by a running change or restore stay. */
  drop(id: string, names: readonly string[], signal?: AbortSignal): Promise<'Dropped' | 'Gone'>
  /** Defragments one member at a time; done once the store's `defragmented` reaches this number. Only for a host that reports its store. */
  defragment?(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'>
  /** The lost member gets an empty volume and its data from the others; done once `replaced` reaches this number. Only for a host that reports its members. */
  replaceMember?(id: string, number: number, signal?: AbortSignal): Promise<'Done' | 'Gone'>
  /** A second call with the same token changes nothing. Everything written since the snapshot is lost. */
  restore(
    id: string,
    how: { readonly snapshot: string; readonly token: string },
    signal?: AbortSignal,
  ): Promise<RestoreResult>
  /** Removes everything except the snapshot named by `keep`, which stays for a week. `Owned`: it belongs to another Cluster now, and stays. */
  delete(
    id: string,
    how: { readonly owner: string; readonly keep?: string },
    signal?: AbortSignal,
  ): Promise<'Deleted' | 'Gone' | 'Owned'>
}
