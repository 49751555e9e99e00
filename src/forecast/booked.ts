// Which machines of a cluster will be away for work on their hosts, and until when that is assumed. Pure.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { bookedFrom, isOver, LEAST_LEAD_MS, plannerOf, takesHostAway } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'

/** One machine that is away anyway while a rollout runs. */
export interface Booked {
  readonly machine: string
  readonly event: string
  readonly kind: string
  readonly source: string
  /** The person who planned it, or the source. */
  readonly by: string
  /** From then on it counts in every budget. */
  readonly from: string
  /** Absent: its source names no end, and two hours of work are assumed. */
  readonly until?: string
}

const endOf = ({ spec }: MaintenanceEvent, from: number): number => {
  const recorded = Date.parse(spec.notAfter ?? '')
  const begins = Math.max(from, Date.parse(spec.notBefore ?? '') || from)
  return Number.isNaN(recorded) ? begins + LEAST_LEAD_MS : recorded
}

/** What is booked or begins between the two times. */
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

/** Those that bind at one moment of a forecast, in which no source ends the work: its planned or assumed end does. */
export const eventsBetween = (
  events: readonly MaintenanceEvent[],
  from: number,
  to: number,
  takenAt = from,
): readonly MaintenanceEvent[] =>
  events.filter((e) => !isOver(e) && takesHostAway(e) && (bookedFrom(e) ?? Infinity) <= to && endOf(e, takenAt) > from)
