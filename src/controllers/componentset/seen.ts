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
import type { Abilities, Look } from './inspection/inspections.ts'
import type { Lookup } from './members/lookup.ts'
import type { ReadingMemo } from './members/members.ts'
import type { ControllerRevision } from './revisions/revisions.ts'

export interface Seen {
  /** Components with secret values say in `sealed` what the values are now, unless `missingSecret` says why not. */
  readonly set: MachineComponentSet
  readonly missingSecret?: string
  /** Its spec was edited; `set` has what git declares in its place, unless a hold allows the edit. */
  readonly edit?: Edit
  /** What git declares is not known: nothing is begun. */
  readonly isHeld?: boolean
  /** Those that the set owns. */
  readonly revisions: readonly ControllerRevision[]
  /** All machines of the cluster: the selector is applied by the plan. */
  readonly machines: readonly Machine[]
  readonly nodes: Lookup<Node>
  /** Where our own programs run as pods; nowhere when it is absent. */
  readonly hosts?: Hosts
  /** Nodes of their leaders. */
  readonly leading?: ReadonlySet<string>
  /** Permits requested for the set, by name. */
  readonly permits: ReadonlyMap<string, OperationPermit>
  /** For how long those with a refusal have been refused. */
  readonly refusedFor: EndedFor
  readonly holds: readonly OperationalHold[]
  /** Only tells whether a policy has changed since it refused a machine; the Defender alone judges by them. */
  readonly policies?: Lookup<DefenderPolicy>
  /** By name: a hold may select the MachineSet of a machine. */
  readonly machineSets?: Lookup<MachineSet>
  /** All sets of the cluster; the set itself may be among them. */
  readonly sets: readonly MachineComponentSet[]
  /** By object name. */
  readonly components: Lookup<MachineComponent>
  /** Names of the ComponentConfigs that exist. */
  readonly configs: ReadonlySet<string>
  /** What `GET /version` of the API server says; undefined when it is not known, or nothing depends on it. */
  readonly apiServer?: string
  /** What inspections can be done here. */
  readonly canInspect?: Abilities
  /** What the inspections of open steps said last, by key. */
  readonly inspectionResults?: ReadonlyMap<string, Look>
  /** Pods that inspect for this set; undefined when none may be started. */
  readonly probePods?: readonly Pod[]
  /** Only saves work: without it every machine is read again. */
  readonly memo?: ReadingMemo
}

export type Status = MachineComponentSetStatus & object
export type { Slice, SliceDecision } from '#api/kinds/machine-component-set.ts'
export type Blocked = NonNullable<NonNullable<Status['revisions']>['blocked']>[number]
export type Rollout = MachineComponentSet['spec']['rollout']
