// The head and rows of one node's topic. Types only; times are milliseconds since 1970.
import type { Stamp } from './basics.ts'
import type { NodeFacts, NodePodRow } from './node-facts.ts'
import type { HoldNote, RepairRow, Wait } from './topics.ts'

export interface NodeHead {
  readonly cluster: string
  readonly name: string
  /** If left out, KubeNode does not manage the node. */
  readonly machine?: string
  readonly node?: string
  readonly phase: string
  readonly zone: string
  readonly rack: string
  readonly pool: string
  readonly class: string
  readonly os?: string
  readonly arch?: string
  readonly kernel?: string
  readonly agent?: string
  readonly commit?: string
  readonly certificateExpires?: Stamp
  /** What Kubernetes knows of it; left out without a Node. */
  readonly kubernetes?: NodeFacts
  readonly holds: readonly HoldNote[]
  readonly wait?: Wait
  /** The user may read the logs of its components. */
  readonly canReadLogs?: boolean
}

export type NodeRow = NodeConditionRow | NodeComponentRow | NodeRepairRow | NodePodRow | NodePermitRow

export interface NodeConditionRow {
  readonly id: string
  readonly row: 'Condition'
  readonly of: 'Machine' | 'Node'
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly isGood: boolean
  readonly since?: Stamp
  readonly reason: string
  readonly message: string
}

export interface NodeComponentRow {
  readonly id: string
  readonly row: 'Component'
  readonly name: string
  readonly version?: string
  readonly desired?: string
  /** Phase of Component. */
  readonly state: string
  readonly since?: Stamp
  readonly set?: string
  readonly message?: string
  /** The end of its output when it failed. */
  readonly output?: string
}

export interface NodeRepairRow {
  readonly id: string
  readonly row: 'Repair'
  readonly repair: RepairRow
}

/** A permit to disrupt the node, requested or granted. */
export interface NodePermitRow {
  readonly id: string
  readonly row: 'Permit'
  readonly name: string
  /** What it is for. */
  readonly purpose: string
  readonly operations: readonly string[]
  /** Phase of Permit. */
  readonly phase: string
  readonly since?: Stamp
  /** Left out before it is granted. */
  readonly until?: Stamp
  /** Of a permit that is not granted yet: what its gates say. */
  readonly wait?: string
  readonly approvedBy?: readonly string[]
}
