// The inputs of a canary decision.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Edit } from '#declared/committed.ts'
import type { Node } from '#nodes/objects.ts'
import type { EndedFor } from '#permits/ended-for.ts'

export interface Lookup<T> {
  get(name: string): T | undefined
}

export interface Seen {
  /** For components with secret values, `sealed` has the current values, except those in `missingSecret`. */
  readonly canary: ComponentCanary
  readonly missingSecret?: string
  /** Its spec was edited. `canary` has git's version instead, unless a hold allows the edit. */
  readonly edit?: Edit
  /** Git's declaration is unknown, so nothing starts. */
  readonly isHeld?: boolean
  readonly configs: Lookup<ComponentConfig>
  readonly machines: readonly Machine[]
  readonly nodes: Lookup<Node>
  /** Permits requested for the canary. */
  readonly permits: readonly OperationPermit[]
  /** How long the refused permits have been refused. */
  readonly refusedFor: EndedFor
  readonly holds: readonly OperationalHold[]
  /** By name: a hold may select the MachineSet of a machine. */
  readonly machineSets?: Lookup<MachineSet>
  readonly sets: readonly MachineComponentSet[]
  readonly components: Lookup<MachineComponent>
  /** As reported by the server. Read only if a component limits its version skew. */
  readonly apiServer?: string
}

export type Status = NonNullable<ComponentCanary['status']>
