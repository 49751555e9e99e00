import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { timestamp } from '#lib/clock.ts'
import type { Unit } from './unit.ts'
import type { FleetView } from './fleet.ts'
import { asGrant, reservationsOf } from './reservations.ts'
import { Levels } from './levels.ts'
import { builtinPolicy } from './compile-policy.ts'
import { START_MS, aMachine, aPermit, aPolicy, aSnapshot } from '#test/support/fleets/defender-objects.ts'
import { decide } from './plan.ts'
import { permitStatus } from './status.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')
const HOUR = 3_600_000

const unit = (name: string): Unit =>
  ({
    id: `uid-${name}`,
    name,
    space: 'machines',
    rack: 'r1',
    zone: '',
    pool: '',
    health: 'Healthy',
    source: { kind: 'Machine' },
  }) as unknown as Unit
const units = ['m-0', 'm-1', 'm-2'].map(unit)
const fleet = {
  units,
  find: ({ name }: { readonly name: string }) => {
    const found = units.find((u) => u.name === name)
    return found === undefined ? { kind: 'Absent' } : { kind: 'Found', unit: found }
  },
  tally: () => ({ total: units.length, silent: 0, troubled: new Set(), countIn: () => units.length }),
} as unknown as FleetView

const event = (more: object = {}, status: object = {}): MaintenanceEvent =>
  ({
    metadata: { name: 'e' },
    spec: {
      machine: 'm-1',
      kind: 'Reboot',
      dataLoss: false,
      unplanned: false,
      notBefore: timestamp(NOW + HOUR),
      ...more,
    },
    status: { phase: 'Announced', ...status },
  }) as unknown as MaintenanceEvent

const booked = (e: MaintenanceEvent) => reservationsOf([e], [], fleet, NOW).length > 0

test.each([
  ['less than the lead before its time', event(), true],
  ['more than the lead before its time', event({ notBefore: timestamp(NOW + 3 * HOUR) }), false],
  ['with a longer lead', event({ notBefore: timestamp(NOW + 3 * HOUR) }, { lead: '4h' }), true],
  ['unplanned', event({ notBefore: undefined, unplanned: true }), true],
  ['in progress', event({ notBefore: undefined }, { phase: 'InProgress' }), true],
  ['missed', event({}, { phase: 'Missed' }), true],
  ['over', event({}, { phase: 'Done' }), false],
  ['a notice for people', event({ kind: 'Notice' }), false],
  ['of an unknown machine', event({ machine: 'm-9' }), false],
])('an event %s is booked: %s', (_, e, is) => {
  expect(booked(e)).toBe(is)
})

test('a reservation keeps the time from which it counts', () => {
  const first = reservationsOf([event()], [], fleet, NOW)
  expect(reservationsOf([event()], first, fleet, NOW + 60_000)[0]?.from).toBe(first[0]?.from)
})

test('what is booked counts in a budget, once a machine, and is left out where only what is away counts', () => {
  fc.assert(
    fc.property(fc.subarray(units), fc.subarray(units), fc.subarray(units), (granted, ahead, begun) => {
      const reservation = (u: Unit, i: number, notBefore?: string) => ({
        event: `e-${i}-${u.name}`,
        target: u.id,
        name: u.name,
        from: timestamp(NOW),
        ...defined({ notBefore }),
        dataLoss: false,
      })
      const reservations = [
        ...ahead.map((u) => reservation(u, 0, timestamp(NOW + HOUR))),
        ...begun.map((u) => reservation(u, 1)),
      ]
      const grants = granted.map((u) => asGrant(reservation(u, 2)))
      const levels = Levels.booked(fleet, grants, reservations)
      const count = (l: Levels) => l.set(builtinPolicy, 'concurrent', 'rack', 'machines', 'r1').size
      expect(count(levels)).toBe(new Set([...granted, ...ahead, ...begun].map((u) => u.id)).size)
      expect(count(levels.now)).toBe(new Set([...granted, ...begun].map((u) => u.id)).size)
    }),
  )
})

test('the health floor names the machines that are healthy and booked', () => {
  const seen = (of: readonly MaintenanceEvent[]) => {
    const machines = ['m-0', 'm-1', 'm-2'].map((name) => aMachine({ name }))
    const permits = [aPermit({ name: 'p', targets: ['m-0'], operations: ['SwitchComponent'] })]
    const snapshot = aSnapshot({ machines, permits, policies: [aPolicy({ healthFloor: 2 })], maintenance: of })
    const now = START_MS
    const { permits: decided } = decide(snapshot, undefined, { now, leader: 'a' })
    const status = decided[0] && permitStatus(decided[0], [], { now, expiresAt: undefined })
    return status?.verdicts?.find((v) => v.gate === 'HealthFloor')?.seen
  }
  expect(seen([])).toBeUndefined()
  expect(seen([event({ notBefore: timestamp(START_MS + HOUR) })])).toBe(
    '1 of 3 would remain healthy, 1 of the others booked for work on their hosts',
  )
  expect(seen([event({ notBefore: undefined }, { phase: 'InProgress' })])).toBe(
    '1 of 3 would remain healthy; room again once m-1 is healthy and no operation runs on it',
  )
})
