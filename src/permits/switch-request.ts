// The permit request of a slice or a batch. It comes from the decision alone, so that permit and status agree. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { FieldManager } from '#api/names.ts'
import type { RolloutPart } from '#api/protocol/part.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { LEASES } from './leases.ts'
import { type PermitRequest, commitOf, requesterOf, targetRef } from './permits.ts'

interface Asking {
  readonly manager: FieldManager
  /** The set or canary that it belongs to. */
  readonly parent: Pick<KubeObject, 'kind' | 'metadata'>
  /** The targets that still need the permit. The others are done. */
  readonly machines: readonly Machine[]
  /** The component's disruption. Unknown counts as none. */
  readonly disruption: MachineComponentSpec['disruption'] | undefined
  readonly reason: string
  readonly recovery?: boolean
  /** Asked about, but not requested. */
  readonly alternates?: readonly Machine[]
}

const EMPTYING: Readonly<Record<string, PermitRequest['operations']>> = {
  Drain: ['Drain'],
  Reboot: ['Drain', 'Reboot'],
}

export function switchRequest({ to, part }: Pick<RolloutPart, 'to' | 'part'>, asking: Asking): PermitRequest {
  const { manager, parent, machines, disruption = '', reason, recovery, alternates = [] } = asking
  const refs = (list: readonly Machine[]) => list.map((m) => targetRef('Machine', m))
  return {
    operations: ['SwitchComponent', ...(EMPTYING[disruption] ?? [])],
    ...(to && { component: { name: to.name, ...defined({ version: to.version, config: to.config }) } }),
    targets: refs(machines),
    ...(alternates.length > 0 && { alternates: refs(alternates) }),
    requester: { ...requesterOf(manager, parent.kind, parent), part },
    reason,
    ...defined({ recovery }),
    ...commitOf(parent),
    leaseSeconds: LEASES.renewed,
  }
}
