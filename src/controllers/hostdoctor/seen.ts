// The inputs of a host doctor decision about one event.
import type { MaintenanceEvent, MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { cordonOwners } from '#nodes/cordon.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { FINALIZERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { EndedFor } from '#permits/ended-for.ts'
import type { Window } from '#permits/windows.ts'

type PolicyAnswer = NonNullable<DefenderPolicySpec['maintenance']>['answer']
export type Answered = NonNullable<MaintenanceStatus['answer']>

/** What the machine's policies set for events of its host. */
export interface EventPolicy {
  readonly answer: PolicyAnswer
  readonly postpone: boolean
  /** How long pods may ask for time. */
  readonly podWaitMs: number
  /** One list per policy. A time is allowed if every list has a window for it. */
  readonly windows: readonly (readonly Window[])[]
}

export interface Seen {
  readonly event: MaintenanceEvent
  /** Undefined: it was deleted, or another host has its name. */
  readonly machine: Machine | undefined
  readonly node: Node | undefined
  readonly permit: OperationPermit | undefined
  /** How long ended permits of the event have been over. */
  readonly endedFor: EndedFor
  /** Open permits of this event under other names: requested when the event was over, or already had another. */
  readonly strays: readonly OperationPermit[]
  /** Whether pods that must move are on the node. Undefined if not read. */
  readonly hasPods: boolean | undefined
  /** Those, for what is waited for. */
  readonly pods?: readonly Pod[]
  /** Consecutive complete lists of the source without the event. */
  readonly absentPolls: number
  /** Its source was asked since this program started, and still lists it or does not answer. Without that, the object may be hours old. */
  readonly isConfirmed: boolean
  readonly policy: EventPolicy
  /** 95th percentile of the pool's drain times. Undefined if none is known. */
  readonly drainP95Ms: number | undefined
  /** A running repair of the node. */
  readonly runningJob: string | undefined
  /** An earlier event of another source for the same work. Only that one is acted upon. */
  readonly twin?: string
  /** There are too many ended events, and this is among the oldest. */
  readonly isSurplus: boolean
}

export const isKept = ({ metadata }: MaintenanceEvent): boolean =>
  metadata.finalizers?.includes(FINALIZERS.maintenance) === true

const OWNER_PREFIX = 'maintenance/'

/** The owner of an event's cordon. Only its own cordon is ever removed. */
export const cordonOwner = (event: MaintenanceEvent): string => ownerOf(nameOf(event))
export const ownerOf = (event: string): string => `${OWNER_PREFIX}${event}`

/** Names of the events that a Node is cordoned for. */
export function claimsOn(node: Node): readonly string[] {
  const read = cordonOwners(node)
  if (read.kind === 'Unreadable') return []
  return Object.keys(read.owners).flatMap((o) => (o.startsWith(OWNER_PREFIX) ? [o.slice(OWNER_PREFIX.length)] : []))
}
