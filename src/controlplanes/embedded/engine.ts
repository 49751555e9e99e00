// What runs the API server of one control plane, and keeps its data: the embedded server, in this process or in others, or the programs of Kubernetes.
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { Snapshot } from '../port.ts'
import type { PlaneFolder } from './plane-folders.ts'

export interface EngineStart {
  readonly data: string
  /** Whose it is: the namespace of its Cluster. */
  readonly tenant?: string
  /** 0 takes any free one. */
  readonly port: number
  /** Address to listen on. */
  readonly host: string
  readonly version: string
  readonly signal: AbortSignal
}

export interface EngineServer {
  readonly url: string
  readonly credentials: () => Credentials
  /** Kept in the data folder first, so that the next start has them too. */
  readonly replaceCredentials: (next: Credentials) => Promise<void>
  /** Resolves when the server was ended by the signal; rejects when it ended otherwise. */
  readonly ended: Promise<void>
}

export interface SnapshotRequest {
  readonly name: string
  readonly version: string
  readonly now: number
}

/** What an engine keeps in the folder of a control plane. */
export interface PlaneData {
  /** Finishes what a kill interrupted, before a start. */
  readonly mend: (folder: PlaneFolder) => void
  /** `paused`: the server is down for as long as the work takes. */
  readonly snapshot: (
    folder: PlaneFolder,
    wanted: SnapshotRequest,
    paused: <T>(work: () => Promise<T>) => Promise<T>,
  ) => Promise<Snapshot>
  /** False: there is no such snapshot, or it is damaged; nothing was changed, and nothing was stopped. */
  readonly restore: (
    folder: PlaneFolder,
    wanted: Omit<SnapshotRequest, 'version'>,
    halt: () => Promise<void>,
  ) => Promise<boolean>
}

export interface PlaneEngine extends PlaneData {
  /** Minors of Kubernetes that it serves, oldest first. */
  readonly minors: readonly string[]
  start(wanted: EngineStart): Promise<EngineServer>
  /** Once every control plane is stopped. */
  close?(): Promise<void>
}
