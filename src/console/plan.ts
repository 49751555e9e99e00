// Messages between server and page about plans and prepared commits. Types only.
import type { ObjectName, Stamp } from './basics.ts'

/** A part of an answer, or why it is missing. */
export type Part<T> =
  | { readonly state: 'Made'; readonly value: T }
  | { readonly state: 'Absent'; readonly why: string }
  /** Computed on request, because it is slow or reads clusters. */
  | { readonly state: 'Unasked' }

/** GET /api/plan?commit=[&base=][&predict=1]: the output of `kubenode plan` and `kubenode diff` for a commit. */
export interface PlanAnswer {
  readonly commit: string
  /** What the hubs recorded. */
  readonly record: readonly PlanRecord[]
  /** The two rendered commits compared: the result never changes. */
  readonly certain: Part<CertainPlan>
  /** Depends on the clusters' current state. */
  readonly predicted: Part<PredictedPlan>
  /** The equivalent terminal commands. */
  readonly commands: readonly string[]
}

/** A Release of the commit: which clusters' objects it changes, and which deletions wait. */
export interface PlanRecord {
  readonly object: ObjectName
  readonly source: string
  readonly track: string
  readonly phase: string
  /** The previously followed commit. */
  readonly after?: string
  /** Clusters whose objects differ from the previous Release; left out if that one no longer exists. */
  readonly changed?: readonly string[]
  readonly clusters: number
  readonly deletions: readonly RedLine[]
}

/** A line that must not be overlooked. */
export interface RedLine {
  readonly text: string
  readonly command?: string
}

export interface CertainPlan {
  readonly commit: string
  readonly base?: string
  readonly subject: string
  readonly author: string
  readonly at: Stamp
  readonly summary: string
  readonly digest: string
  readonly signature?: string
  /** Deletions, and reasons for sync to refuse the commit. */
  readonly red: readonly RedLine[]
  /** What later commits no longer have to pass, and what a revert does not undo. */
  readonly orange: readonly string[]
  /** Clusters with the same changes share an entry. */
  readonly clusters: readonly PlannedClusters[]
}

export interface PlannedClusters {
  readonly id: string
  readonly clusters: readonly string[]
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly unchanged: number
  readonly objects: readonly PlannedObject[]
  readonly moreObjects: number
  readonly lines: readonly DiffLine[]
  readonly moreLines: number
}

export interface PlannedObject {
  readonly change: 'added' | 'changed' | 'removed'
  readonly object: string
  readonly fields: readonly string[]
  readonly more: number
}

export interface DiffLine {
  readonly tone: 'head' | 'place' | 'added' | 'removed' | 'same'
  readonly text: string
}

export interface PredictedPlan {
  /** When the inventories were taken. */
  readonly takenAt: Stamp
  readonly sentence: string
  readonly clusters: readonly PredictedCluster[]
  readonly warnings: readonly string[]
  readonly notes: readonly string[]
}

interface PredictedCluster {
  readonly id: string
  readonly stage: string
  readonly cluster: string
  readonly machines: number
  readonly of: number
  readonly steps: string
  readonly drains: number
  readonly reboots: number
  readonly time: string
  readonly slowedBy?: string
}
