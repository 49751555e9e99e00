// What the host doctor decides about one event from.
import type { MaintenanceEvent, MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { cordonOwners } from '#nodes/cordon.ts'
import type { Node } from '#nodes/objects.ts'
import { FINALIZERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { Window } from '#permits/windows.ts'

type PolicyAnswer = NonNullable<DefenderPolicySpec['maintenance']>['answer']
export type Answered = NonNullable<MaintenanceStatus['answer']>

/** What the policies over the machine say about an event of its host. */
export interface EventPolicy {
  readonly answer: PolicyAnswer
  readonly postpone: boolean
  /** One list a policy; a time is good when it is in a window of each. */
  readonly windows: readonly (readonly Window[])[]
}

export interface Seen {
  readonly event: MaintenanceEvent
  /** Undefined: it was deleted, or another host has its name. */
  readonly machine: Machine | undefined
  readonly node: Node | undefined
  readonly permit: OperationPermit | undefined
  /** For how long permits of the event have been over. */
  readonly endedFor: EndedFor
  /** Open permits of this event under other names: of a request that came when the event was over or had another. */
  readonly strays: readonly OperationPermit[]
  /** Whether pods that have to move are on the node; undefined when not read. */
  readonly hasPods: boolean | undefined
  /** Complete lists of the source, one after the other, that do not have the event. */
  readonly absentPolls: number
  /** Its source was asked since this program began, and lists it still, or does not answer: an object may be hours old. */
  readonly isConfirmed: boolean
  readonly policy: EventPolicy
  /** How long nine in ten and more of the drains of the pool took; undefined where none is known. */
  readonly drainP95Ms: number | undefined
  /** A repair of the node that is under way. */
  readonly runningJob: string | undefined
  /** An earlier event of another source that is the same one; only that one is acted upon. */
  readonly twin?: string
  /** More ended events are kept than there is room for, and this is among the oldest. */
  readonly isSurplus: boolean
}

export const isKept = ({ metadata }: MaintenanceEvent): boolean =>
  metadata.finalizers?.includes(FINALIZERS.maintenance) === true

const OWNER_PREFIX = 'maintenance/'

/** The owner of the cordon for an event: only its own is ever taken off. */
export const cordonOwner = (event: MaintenanceEvent): string => ownerOf(nameOf(event))
export const ownerOf = (event: string): string => `${OWNER_PREFIX}${event}`

/** Names of the events that a Node is cordoned for. */
export function claimsOn(node: Node): readonly string[] {
  const read = cordonOwners(node)
  if (read.kind === 'Unreadable') return []
  return Object.keys(read.owners).flatMap((o) => (o.startsWith(OWNER_PREFIX) ? [o.slice(OWNER_PREFIX.length)] : []))
}
