// Converts an agent's report of its cloud's notices to the providers' format, and decides when not to believe it. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA } from '#api/kinds/maintenance-event.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { isSameEvent } from '../polls/plan.ts'
import { timeOf } from './time-of.ts'
import { defined } from '#lib/defined.ts'

/**
 * This many hosts, and this share of those with the feature on, are never reclaimed at once. If it looks that way, the agents or their source are
 * wrong.
 */
const FEWEST_OF_MASS = 10
const SHARE_OF_MASS = 1 / 2
const BELIEVED_MS = 30 * 60_000

/** Undefined if nothing can be concluded: the agent was not asked to, or has not completed a first reading. */
export function noticesOf({ metadata, spec, status }: Machine): readonly HostMaintenance[] | undefined {
  const { notices } = status ?? {}
  if (spec.notices === undefined || notices?.from !== spec.notices) return undefined
  const providerID = spec.providerID ?? `machine://${metadata.uid ?? ''}`
  return notices.items.map(({ id, kind, state, unplanned, dataLoss, bill, notBefore, notAfter, description }) => ({
    eventId: id,
    providerID,
    kind,
    state,
    isUnplanned: unplanned === true,
    losesData: dataLoss === true,
    ...(bill === true && { isBill: true }),
    ...defined({ notBefore, notAfter }),
    answers: [],
    description: description ?? '',
  }))
}

/** Whether the agent lists the event now. Undefined if unknown. */
export function isReported(event: MaintenanceEvent, machine: Machine | undefined): boolean | undefined {
  // When a person turns the agent's notices off, events that only the agent reported end.
  if (machine === undefined || machine.spec.notices === undefined) return false
  return noticesOf(machine)?.some((notice) => isSameEvent(event, METADATA, notice))
}

/** Also counts recently accepted reports, corrected or not: a doctor that just started or had stale caches sees only the end of a mass. */
export const isMassReclaim = (
  machines: readonly Machine[],
  events: readonly MaintenanceEvent[],
  now: number,
): boolean => {
  const asked = machines.filter((m) => m.spec.notices !== undefined && m.metadata.deletionTimestamp === undefined)
  const believed = new Set(events.filter((e) => isBelieved(e, now)).map((e) => e.spec.machine))
  const isReclaimed = (m: Machine) =>
    believed.has(m.metadata.name ?? '') || noticesOf(m)?.some((h) => h.kind === 'Reclaim') === true
  const reclaimed = asked.filter(isReclaimed).length
  return reclaimed >= FEWEST_OF_MASS && reclaimed >= asked.length * SHARE_OF_MASS
}

const isBelieved = ({ spec, metadata: { creationTimestamp } }: MaintenanceEvent, now: number): boolean =>
  spec.source === METADATA && spec.kind === 'Reclaim' && now - (timeOf(creationTimestamp) ?? 0) < BELIEVED_MS
