// What the store needs from a place that keeps objects over a restart. The store holds the present state in memory by itself.

/** One version of one object as it is kept. */
export interface Kept {
  /** `group/plural`, empty group for core. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  /** The object as JSON. */
  readonly bytes: Buffer
}

/** A change to be made durable; no bytes means a deletion. */
export interface Change {
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  readonly bytes: Buffer | undefined
  /** A deletion, or a change that does not enlarge an object: stored also on a full disk, in the space reserved for that. */
  readonly takesNoRoom?: boolean
}

interface Loaded {
  /** The highest revision ever given out. */
  readonly revision: number
  readonly objects: Iterable<Kept>
}

export interface StorageBackend {
  /** Everything that was committed; called once, before anything else. */
  load(): Loaded
  /**
   * Resolves when all changes are durable, all or none. Calls do not overlap. Rejected with a KubeNodeError of retry `later`, none of
   * them is stored and the next ones may be; with any other error the stored state is unknown: stop serving.
   */
  commit(changes: readonly Change[]): Promise<void>
  /** Resolves when nothing can be stored any longer, also when no commit is pending. */
  readonly failed?: Promise<Error>
  close(): Promise<void>
}
