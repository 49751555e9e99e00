// The closed list of the remedy controller's actions, and its verdicts on each rule and fault.
import type { Reason } from '#api/catalogue.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ActiveRule, ControllerRevision, RuleReading } from '#nodes/faults/active-rule.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import type { JobIdentity } from './repairs/incident.ts'
import type { NodeSeen } from './seen.ts'

export interface WantedJob extends JobIdentity {
  readonly name: string
  readonly node: Pick<NodeSeen, 'name' | 'uid' | 'machine' | 'machineUid'>
  readonly active: ActiveRule
  readonly skipped?: readonly string[]
}

export type RemedyAction =
  | {
      readonly kind: 'KeepRevision'
      readonly reason: string
      readonly remedier: NodeRemedier
      readonly active: ActiveRule
    }
  | { readonly kind: 'DropRevision'; readonly reason: string; readonly revision: ControllerRevision }
  | { readonly kind: 'CreateJob'; readonly reason: string; readonly job: WantedJob }
  /** Asks the job controller to end a waiting job in favor of a higher-priority rule. */
  | {
      readonly kind: 'SupersedeJob'
      readonly reason: string
      readonly job: RemedyOperationJob
      readonly by: string
    }

/** One fault of one node under one rule, and the decision about it. */
export interface Fault {
  readonly node: string
  readonly since: number
  readonly job?: string
  readonly waitingFor?: string
  readonly reason?: Reason
  /** The hold or the higher-priority rule that it waits for. */
  readonly by?: string
}

export interface RuleVerdict {
  readonly reading: RuleReading
  readonly selected: number
  readonly silent: number
  readonly faults: readonly Fault[]
  readonly inFlight: number
  readonly lastHour: number
  readonly lastDay: number
  /** Why nothing at all happens under this rule. */
  readonly inhibited?: { readonly reason: Reason; readonly message: string }
  readonly paused?: string
}

export interface RemedyPlan extends Plan<RemedyAction> {
  readonly verdicts: readonly RuleVerdict[]
}
