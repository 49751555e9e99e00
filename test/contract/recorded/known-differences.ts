// Recorded cases that the embedded server answers differently, each with its reason. A case that begins to pass must leave the list.

export interface KnownDifference {
  /** `topic/name` */
  readonly id: string
  readonly reason: string
}

export const knownDifferences: readonly KnownDifference[] = []
