// What Kubernetes says of one node: its pods, whether it takes new ones, and what it has for them. Types only.
import type { Stamp } from './basics.ts'

export interface NodeFacts {
  readonly kubelet?: string
  /** By a user, in its field `unschedulable`. */
  readonly isCordoned: boolean
  /** By its taint, for a switch, a repair or a removal. Left out by an older server. */
  readonly isCordonedByKubeNode?: boolean
  readonly taints: readonly string[]
  /** What pods can have, as the kubelet writes it. */
  readonly cpu?: string
  readonly memory?: string
  /** How many pods fit on it. */
  readonly mostPods?: string
  /** Left out for users who may not list pods. */
  readonly pods?: number
  readonly podsNotReady?: number
}

/** A pod that is neither ready nor completed. */
export interface NodePodRow {
  readonly id: string
  readonly row: 'Pod'
  readonly namespace: string
  readonly name: string
  readonly phase: string
  readonly restarts: number
  readonly since?: Stamp
  /** Why it is not ready, from its containers or conditions. */
  readonly why: string
}
