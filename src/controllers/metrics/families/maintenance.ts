// Metrics of host maintenance: events by phase and kind, those missed or failed within a day, bills, and overdue events.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { isOver, isOverrun, phaseOfEvent } from '#nodes/faults/maintenance.ts'
import { type Family, tally } from './family.ts'

/** An alert about something irreversible ends on its own. */
const SHOWN_MS = 86_400_000

export function maintenanceFamilies(events: readonly MaintenanceEvent[], now: number): readonly Family[] {
  const isRecent = (at: string | undefined) => at !== undefined && now - Date.parse(at) < SHOWN_MS
  const count = (name: string, help: string, counted: readonly MaintenanceEvent[]): Family => ({
    name,
    help,
    labels: [],
    samples: [{ labels: {}, value: counted.length }],
  })
  return [
    {
      name: 'kubenode_maintenance_events',
      help: 'Events of hosts of the last month by phase and kind.',
      labels: ['phase', 'kind'],
      samples: tally(events, (e) => ({ phase: phaseOfEvent(e), kind: e.spec.kind })),
    },
    count(
      'kubenode_maintenance_missed',
      'Events of the last day that began before the node was drained.',
      events.filter((e) => isRecent(e.status?.missedAt)),
    ),
    count(
      'kubenode_maintenance_failed',
      'Events of the last day after which the machine was not well again.',
      events.filter((e) => phaseOfEvent(e) === 'Failed' && isRecent(e.status?.endedAt)),
    ),
    count(
      'kubenode_maintenance_bills',
      'Hosts that end because of a bill, until the host has ended or the bill is paid.',
      events.filter((e) => e.spec.bill === true && !isOver(e)),
    ),
    count(
      'kubenode_maintenance_overrun',
      'Work that is not over at the end that people planned, or a day after a provider began it or should have.',
      events.filter((e) => isOverrun(e, now)),
    ),
  ]
}
