// Which machines of a cluster will be unavailable for host maintenance, and until when. Pure.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { bookedFrom, isOver, LEAST_LEAD_MS, plannerOf, takesHostAway } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'

/** A machine that is unavailable anyway while a rollout runs. */
export interface Booked {
  readonly machine: string
  readonly event: string
  readonly kind: string
  readonly source: string
  /** The person or source that planned it. */
  readonly by: string
  /** From this time it counts in every budget. */
  readonly from: string
  /** Left out if the source gives no end; two hours are assumed. */
  readonly until?: string
}

const endOf = ({ spec }: MaintenanceEvent, from: number): number => {
  const recorded = Date.parse(spec.notAfter ?? '')
  const begins = Math.max(from, Date.parse(spec.notBefore ?? '') || from)
  return Number.isNaN(recorded) ? begins + LEAST_LEAD_MS : recorded
}

/** Work that is booked or starts between the two times. */
export const bookedBetween = (events: readonly MaintenanceEvent[], from: number, to: number): readonly Booked[] =>
  eventsBetween(events, from, to)
    .map((event) => {
      const { machine, kind, source, notAfter } = event.spec
      return {
        machine,
        event: event.metadata.name ?? '',
        kind,
        source,
        by: plannerOf(event.spec),
        from: timestamp(Math.max(from, bookedFrom(event) ?? from)),
        ...defined({ until: notAfter }),
      }
    })
    .toSorted((a, b) => (a.from + a.event < b.from + b.event ? -1 : 1))

/** Events in force at one moment of a forecast. No source ends work there; its planned or assumed end does. */
export const eventsBetween = (
  events: readonly MaintenanceEvent[],
  from: number,
  to: number,
  takenAt = from,
): readonly MaintenanceEvent[] =>
  events.filter((e) => !isOver(e) && takesHostAway(e) && (bookedFrom(e) ?? Infinity) <= to && endOf(e, takenAt) > from)
