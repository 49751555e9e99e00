// What the remedy controller decides about: rules as they are asked, nodes for which some rule is true, and the jobs there are.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ControllerRevision, RuleReading } from '#nodes/faults/active-rule.ts'
import type { Standing } from '#nodes/faults/node-view.ts'
import type { Silence } from '#nodes/faults/peers.ts'

export interface NodeSeen {
  readonly name: string
  readonly uid: string
  readonly machine: string | undefined
  /** UID of that Machine: distinguishes its agent from that of an earlier Machine of the same name. */
  readonly machineUid: string | undefined
  /** Its Machine is observed only: KubeNode must not repair anything on it. */
  readonly isObserved?: boolean
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly standing: Standing
  /** The rules that are true for certain, each with the first time that is recorded for it. */
  readonly matches: ReadonlyMap<string, number>
  /** Where it is one of many that went silent at once. */
  readonly silence?: Silence
}

/** Of the nodes that a rule is asked about: all, those that are silent or join, those for which it is true. */
export interface RuleCounts {
  readonly selected: number
  readonly silent: number
  /** Of the silent ones, those that were never heard: they join. */
  readonly joining: number
  readonly bad: number
}

export interface Seen {
  readonly rules: readonly RuleReading[]
  readonly revisions: readonly ControllerRevision[]
  /** The others need no decision; `counts` knows of them. */
  readonly nodes: readonly NodeSeen[]
  readonly counts: ReadonlyMap<string, RuleCounts>
  readonly jobs: readonly RemedyOperationJob[]
  readonly holds: readonly OperationalHold[]
  /** By name of the Machine: what is said of the work on its host, while that explains what the node shows. */
  readonly maintained: ReadonlyMap<string, string>
  /** Whether some rule can become true by the mere passing of time. */
  readonly isTimed: boolean
}
