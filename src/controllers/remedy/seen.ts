// What the remedy controller decides about: rules as they are asked, nodes with the rules that are true for them, and the jobs there are.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ControllerRevision, RuleReading } from '#nodeops/rules/active-rule.ts'
import type { Standing } from '#nodeops/rules/node-view.ts'

export interface NodeSeen {
  readonly name: string
  readonly uid: string
  readonly machine: string | undefined
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly standing: Standing
  /** The rules that are true for certain, each with the first time that is recorded for it. Empty unless Readable. */
  readonly matches: ReadonlyMap<string, number>
}

export interface Seen {
  readonly rules: readonly RuleReading[]
  readonly revisions: readonly ControllerRevision[]
  readonly nodes: readonly NodeSeen[]
  readonly jobs: readonly RemedyOperationJob[]
  readonly holds: readonly OperationalHold[]
  /** Whether some rule can become true by the mere passing of time. */
  readonly isTimed: boolean
}
