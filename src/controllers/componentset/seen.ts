// All inputs of a rollout decision: one reading of a set, its machines and everything that restricts them.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet, MachineComponentSetStatus } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Edit } from '#declared/committed.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { Hosts } from '#nodes/own-pods.ts'
import type { Abilities, CheckResult } from './inspection/inspections.ts'
import type { Lookup } from './members/lookup.ts'
import type { ReadingMemo } from './members/members.ts'
import type { ControllerRevision } from './revisions/revisions.ts'

export interface Seen {
  /** For components with secret values, `sealed` has the current values, unless `missingSecret` gives a reason. */
  readonly set: MachineComponentSet
  readonly missingSecret?: string
  /** Its spec was edited. `set` has git's version instead, unless a hold allows the edit. */
  readonly edit?: Edit
  /** Git's declaration is unknown, so nothing starts. */
  readonly isHeld?: boolean
  /** Revisions that the set owns. */
  readonly revisions: readonly ControllerRevision[]
  /** All machines of the cluster. The plan applies the selector. */
  readonly machines: readonly Machine[]
  readonly nodes: Lookup<Node>
  /** Nodes that run KubeNode programs as pods. Absent: none. */
  readonly hosts?: Hosts
  /** Nodes of the programs' leaders. */
  readonly leading?: ReadonlySet<string>
  /** Permits requested for the set, by name. */
  readonly permits: ReadonlyMap<string, OperationPermit>
  /** How long the refused permits have been refused. */
  readonly refusedFor: EndedFor
  readonly holds: readonly OperationalHold[]
  /** Only shows whether a policy has changed since it refused a machine. Only the Defender evaluates policies. */
  readonly policies?: Lookup<DefenderPolicy>
  /** By name: a hold may select the MachineSet of a machine. */
  readonly machineSets?: Lookup<MachineSet>
  /** All sets of the cluster, possibly including this one. */
  readonly sets: readonly MachineComponentSet[]
  /** By object name. */
  readonly components: Lookup<MachineComponent>
  /** Names of the ComponentConfigs that exist. */
  readonly configs: ReadonlySet<string>
  /** The result of `GET /version`. Undefined if unknown, or if nothing depends on it. */
  readonly apiServer?: string
  /** Inspections available here. */
  readonly canInspect?: Abilities
  /** Latest inspection results of open steps, by key. */
  readonly inspectionResults?: ReadonlyMap<string, CheckResult>
  /** Keys of inspections whose first result is on its way. */
  readonly pendingInspections?: ReadonlySet<string>
  /** Inspection pods of this set. Undefined if none may be started. */
  readonly probePods?: readonly Pod[]
  /** Saves work only: without it every machine is read again. */
  readonly memo?: ReadingMemo
}

export type Status = MachineComponentSetStatus & object
export type { Slice, SliceDecision } from '#api/kinds/machine-component-set.ts'
export type Blocked = NonNullable<NonNullable<Status['revisions']>['blocked']>[number]
export type Rollout = MachineComponentSet['spec']['rollout']
