// All inputs of a decision, read in advance. Nothing that a requester wrote about a target is trusted.
import type { Approval } from '#api/kinds/approval.ts'
import type { BrakeSpec } from '#api/kinds/fleet-brake.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Hosts } from '#nodes/own-pods.ts'
import type { Suspicion } from './blame/suspicion.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { FleetView } from './fleet.ts'
import type { AlteredPolicy, Grant } from './ledger.ts'
import type { RuleVerdicts } from './rule-verdicts.ts'
import type { Unit } from './unit.ts'

/** How many machines of a set may be unavailable. */
export interface SetLimit {
  readonly name: string
  readonly uid: string
  readonly maxUnavailable: MachineComponentSet['spec']['rollout']['maxUnavailable']
  readonly components: ReadonlySet<string>
  selects(unit: Pick<Unit, 'source'>): boolean
}

export interface Snapshot {
  /** All open permits, and ended ones that still hold a slot. */
  readonly permits: readonly OperationPermit[]
  readonly policies: readonly CompiledPolicy[]
  readonly holds: readonly OperationalHold[]
  readonly approvals: readonly Approval[]
  /** The brake over all clusters; absent where no hub limits any. */
  readonly brake?: BrakeSpec | undefined
  readonly fleet: FleetView
  /** The known maintenance of hosts. */
  readonly maintenance?: readonly MaintenanceEvent[]
  /** Admission policies that differ from the installed version. Absent: not known yet, so the last known state stays. */
  readonly alteredPolicies?: readonly AlteredPolicy[] | undefined
  /** Where our own programs run as pods. */
  readonly hosts: Hosts
  /** Why no decision must use this data (an incomplete or stale cache), or undefined. */
  readonly unknown: string | undefined
  readonly cluster: string | undefined
  /** The wall clock: windows, holds and approvals use it. */
  readonly wall: number
  /** UIDs of permits whose lease expired by our own stopwatch. */
  readonly leasesOver: ReadonlySet<string>
  /** UIDs of permits that no longer exist on the server. */
  readonly deletedPermits: ReadonlySet<string>
  /** UIDs of targets that no longer exist on the server. */
  readonly deletedTargets: ReadonlySet<string>
  /** Cohorts in which failures currently cluster. */
  readonly suspicions: readonly Suspicion[]
  /** Components that a hold allows to retry. */
  readonly retried: ReadonlySet<string>
  /** For every set while a canary requests something or has a slot. Otherwise empty. */
  readonly setLimits?: readonly SetLimit[]
  isIdle(grant: Grant): boolean
  /** Whether the target, by UID, really returns to a version that was healthy on the set or on the target itself. */
  isRecovery(permit: OperationPermit, target: string): boolean
  /** Whether git lists the requesting set where sync recorded that recoveries are exempt from budgets. */
  isBudgetExempt?(permit: OperationPermit): boolean
  /** Whether the version declares that switching to it disrupts nothing. */
  isWithoutDisruption(permit: OperationPermit): boolean
  /** The results of a policy's rules. Absent: they could not be evaluated. */
  readonly rules: RuleVerdicts
  /** The same for each pool of which the budget is known, where a policy asks about pools. */
  readonly poolRules?: ReadonlyMap<string, RuleVerdicts>
}
