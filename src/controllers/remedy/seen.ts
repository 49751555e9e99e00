// The inputs of the remedy controller: the active rules, the nodes for which a rule is true, and the existing jobs.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ControllerRevision, RuleReading } from '#nodes/faults/active-rule.ts'
import type { Standing } from '#nodes/faults/node-view.ts'
import type { Silence } from '#nodes/faults/peers.ts'

export interface NodeSeen {
  readonly name: string
  readonly uid: string
  readonly machine: string | undefined
  /** UID of that Machine. Tells its agent from that of an earlier Machine with the same name. */
  readonly machineUid: string | undefined
  /** Its Machine is only observed: KubeNode must not repair anything on it. */
  readonly isObserved?: boolean
  /** Why rescues do nothing on it; undefined: they may. */
  readonly noRescue?: string
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly standing: Standing
  /** The rules that are certainly true, each with the first recorded time. */
  readonly matches: ReadonlyMap<string, number>
  /** Set if it is one of many nodes that fell silent at once. */
  readonly silence?: Silence
}

/** Counts of a rule's nodes: all, silent or joining, and those for which it is true. */
export interface RuleCounts {
  readonly selected: number
  readonly silent: number
  /** Silent nodes that never sent a heartbeat: they are joining. */
  readonly joining: number
  readonly bad: number
}

export interface Seen {
  readonly rules: readonly RuleReading[]
  readonly revisions: readonly ControllerRevision[]
  /** The others need no decision. `counts` includes them. */
  readonly nodes: readonly NodeSeen[]
  readonly counts: ReadonlyMap<string, RuleCounts>
  readonly jobs: readonly RemedyOperationJob[]
  readonly holds: readonly OperationalHold[]
  /** By Machine name: the text about maintenance of its host, while that explains the node's state. */
  readonly maintained: ReadonlyMap<string, string>
  /** Whether a rule can become true just because time passes. */
  readonly isTimed: boolean
}
