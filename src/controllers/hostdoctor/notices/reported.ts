// What the agent of a machine reports of the notices of its cloud, in the words of providers, and when it is not believed. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA } from '#api/kinds/maintenance-event.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { isSameEvent } from '../polls/plan.ts'
import { timeOf } from './time-of.ts'
import { defined } from '#lib/defined.ts'

/** So many hosts, and this share of those that are asked, are never reclaimed at once: then agents are wrong, or what answers them. */
const FEWEST_OF_MASS = 10
const SHARE_OF_MASS = 1 / 2
const BELIEVED_MS = 30 * 60_000

/** Undefined while nothing may be concluded: the agent was not asked to, or has not read everything once. */
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

/** Whether the agent lists the event now; undefined when that is not known. */
export function isReported(event: MaintenanceEvent, machine: Machine | undefined): boolean | undefined {
  // A person who no longer has the agent asked ends what only the agent reported.
  if (machine === undefined || machine.spec.notices === undefined) return false
  return noticesOf(machine)?.some((notice) => isSameEvent(event, METADATA, notice))
}

/**
 * Reports that were believed shortly before count as well, whether or not they are corrected by now: a doctor that starts, or whose caches were
 * behind, sees only the end of a mass.
 */
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
