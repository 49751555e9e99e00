// Machines that will be unavailable during maintenance of their hosts, whether or not anything is granted. They count against every budget, so that
// rollouts and repairs cannot take the rest of the rack. The Defender looks them up itself and never trusts a request. Pure.
import { machine as machineType } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { bookedFrom } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import type { FleetView } from './fleet.ts'
import type { Grant, Reservation } from './ledger.ts'

/** What a reservation counts as: an unavailable host drains and reboots its machine. */
const OPERATIONS: Grant['operations'] = ['Drain', 'Reboot']

export function reservationsOf(
  events: readonly MaintenanceEvent[],
  before: readonly Reservation[],
  fleet: FleetView,
  wall: number,
): readonly Reservation[] {
  const booked = events.filter((event) => (bookedFrom(event) ?? Infinity) <= wall)
  if (booked.length === 0) return []
  const since = new Map(before.map((r) => [r.event, r.from]))
  const names = new Set(booked.map((e) => e.spec.machine))
  const machines = new Map(
    fleet.units.flatMap((u) => (u.source.kind === machineType.kind && names.has(u.name) ? [[u.name, u] as const] : [])),
  )
  return booked
    .flatMap((event): readonly Reservation[] => {
      const unit = machines.get(event.spec.machine)
      if (unit === undefined) return []
      const name = event.metadata.name ?? ''
      const { notBefore, kind, dataLoss } = event.spec
      const isAhead = notBefore !== undefined && Date.parse(notBefore) > wall
      return [
        {
          event: name,
          target: unit.id,
          name: unit.name,
          from: since.get(name) ?? timestamp(wall),
          ...(isAhead && { notBefore }),
          dataLoss: losesMachine({ kind, dataLoss }),
        },
      ]
    })
    .toSorted((a, b) => (a.event < b.event ? -1 : 1))
}

/** A host that is reclaimed within minutes is not waited for. */
export const losesMachine = ({ kind, dataLoss }: Pick<MaintenanceEvent['spec'], 'kind' | 'dataLoss'>): boolean =>
  kind === 'Delete' || (dataLoss && kind !== 'Reclaim')

/** In the form that the levels count. */
export const asGrant = ({ event, target, name, from }: Reservation): Grant => ({
  permit: event,
  permitUid: `maintenance/${event}`,
  target,
  kind: 'Machine',
  name,
  operations: OPERATIONS,
  state: 'Held',
  grantedAt: from,
})
