// Everything that a decision is made from, read beforehand. Nothing in it is believed that a requester wrote about a target.
import type { Approval } from '#api/kinds/approval.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Hosts } from '#nodes/own-pods.ts'
import type { Verdict } from '#policy/verdict.ts'
import type { Suspicion } from './blame/suspicion.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { FleetView } from './fleet.ts'
import type { AlteredPolicy, Grant } from './ledger.ts'
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
  /** All that are open, and those behind a slot that ended. */
  readonly permits: readonly OperationPermit[]
  readonly policies: readonly CompiledPolicy[]
  readonly holds: readonly OperationalHold[]
  readonly approvals: readonly Approval[]
  readonly fleet: FleetView
  /** What is known of work on hosts. */
  readonly maintenance?: readonly MaintenanceEvent[]
  /** Admission policies that are not as installed; absent: not known yet, so what was known before stays. */
  readonly alteredPolicies?: readonly AlteredPolicy[] | undefined
  /** Where our own programs run as pods. */
  readonly hosts: Hosts
  /** Why what was read must not be decided upon (a cache that is incomplete or old), or undefined. */
  readonly unknown: string | undefined
  readonly cluster: string | undefined
  /** The wall clock: for windows, holds and approvals, which speak in its terms. */
  readonly wall: number
  /** UIDs of permits whose lease ran out by our own stopwatch. */
  readonly leasesOver: ReadonlySet<string>
  /** UIDs of permits that no longer exist according to the server itself. */
  readonly deletedPermits: ReadonlySet<string>
  /** UIDs of targets that no longer exist according to the server itself. */
  readonly deletedTargets: ReadonlySet<string>
  /** Cohorts that failures gather in now. */
  readonly suspicions: readonly Suspicion[]
  /** Components that a hold says may be tried again. */
  readonly retried: ReadonlySet<string>
  /** Of every set, while a canary asks for something or has a slot; else none. */
  readonly setLimits?: readonly SetLimit[]
  isIdle(grant: Grant): boolean
  /** Whether the target, by its UID, truly returns to a version that was healthy on the set or on itself. */
  isRecovery(permit: OperationPermit, target: string): boolean
  /** Whether git lists the requesting set where sync recorded that recoveries are exempt from budgets. */
  isBudgetExempt?(permit: OperationPermit): boolean
  /** Whether the version says of itself that switching to it disrupts nothing. */
  isWithoutDisruption(permit: OperationPermit): boolean
  /** The results of a policy's rules; absent: they could not be evaluated. */
  readonly rules: ReadonlyMap<string, ReadonlyMap<string, Verdict>>
}
