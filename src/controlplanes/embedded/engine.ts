// Runs one control plane's API server and keeps its data: the embedded server, in this process or others, or the programs of Kubernetes.
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { Snapshot } from '../port.ts'
import type { PlaneFolder } from './plane-folders.ts'

export interface EngineStart {
  readonly data: string
  /** Its owner: the namespace of its Cluster. */
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
  /** Writes them to the data folder first, so that the next start has them too. */
  readonly replaceCredentials: (next: Credentials) => Promise<void>
  /** Resolves when the signal ended the server; rejects if it ended otherwise. */
  readonly ended: Promise<void>
}

export interface SnapshotRequest {
  readonly name: string
  readonly version: string
  readonly now: number
}

/** An engine's data in the folder of a control plane. */
export interface PlaneData {
  /** Finishes what a kill interrupted; called before a start. */
  readonly mend: (folder: PlaneFolder) => void
  /** `paused`: stops the server while the work runs. */
  readonly snapshot: (
    folder: PlaneFolder,
    wanted: SnapshotRequest,
    paused: <T>(work: () => Promise<T>) => Promise<T>,
  ) => Promise<Snapshot>
  /** False if the snapshot does not exist or is damaged; nothing was changed or stopped. */
  readonly restore: (
    folder: PlaneFolder,
    wanted: Omit<SnapshotRequest, 'version'>,
    halt: () => Promise<void>,
  ) => Promise<boolean>
}

export interface PlaneEngine extends PlaneData {
  /** Kubernetes minors it serves, oldest first. */
  readonly minors: readonly string[]
  start(wanted: EngineStart): Promise<EngineServer>
  /** Called once every control plane is stopped. */
  close?(): Promise<void>
}
