// For any announcements and requests: grants fit into the budgets together with reservations, and no repair is granted during maintenance of its
// host.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { bookedFrom, standsOff } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { START_MS, aMachine, aPermit, aPolicy, aSnapshot } from '#test/support/fleets/defender-objects.ts'
import { decide } from './plan.ts'
import { permitStatus } from './status.ts'

const MACHINES = 8
const PER_RACK = 4
const nameOf = (n: number): string => `m-${n}`
const rackOf = (name: string): string => `r-${Math.floor(Number(name.slice(2)) / PER_RACK)}`
const fleet = Array.from({ length: MACHINES }, (_, n) => aMachine({ name: nameOf(n), rack: rackOf(nameOf(n)) }))
const MINUTE = 60_000

const machineName = fc.integer({ min: 0, max: MACHINES - 1 }).map(nameOf)

const event = fc
  .record({
    machine: machineName,
    kind: fc.constantFrom('Reboot', 'Notice', 'Stop', 'Reclaim'),
    unplanned: fc.boolean(),
    minutes: fc.option(fc.integer({ min: -60, max: 300 }), { nil: undefined }),
    phase: fc.constantFrom(
      'Announced',
      'Preparing',
      'Prepared',
      'Missed',
      'InProgress',
      'Verifying',
      'Done',
      'Cancelled',
    ),
  })
  .map(
    ({ machine, kind, unplanned, minutes, phase }): MaintenanceEvent =>
      ({
        metadata: { name: `e-${machine}`, uid: `uid-e-${machine}` },
        spec: {
          machine,
          kind,
          unplanned,
          dataLoss: false,
          source: 'cloud',
          eventId: machine,
          state: 'Scheduled',
          ...(minutes !== undefined && { notBefore: timestamp(START_MS + minutes * MINUTE) }),
        },
        status: { phase },
      }) as unknown as MaintenanceEvent,
  )

const REQUESTERS = {
  MaintenanceEvent: { manager: 'kubenode-hostdoctor', operations: ['Drain', 'Reboot'] },
  RemedyOperationJob: { manager: 'kubenode-remedyjob', operations: ['Reboot'] },
  MachineComponentSet: { manager: 'kubenode-componentset', operations: ['SwitchComponent'] },
} as const

const request = fc.record({
  machine: machineName,
  kind: fc.constantFrom('MaintenanceEvent' as const, 'RemedyOperationJob' as const, 'MachineComponentSet' as const),
})

const permitOf = (
  { machine, kind }: { machine: string; kind: keyof typeof REQUESTERS },
  n: number,
): OperationPermit => {
  const { manager, operations } = REQUESTERS[kind]
  const requester = { manager, kind, name: kind === 'MaintenanceEvent' ? `e-${machine}` : `${kind}-${n}` }
  return aPermit({ name: `p-${n}`, targets: [machine], operations: [...operations], requester })
}

const story = fc.record({
  most: fc.integer({ min: 1, max: 2 }),
  before: fc.array(request, { maxLength: 6 }),
  now: fc.array(request, { maxLength: 8 }),
  events: fc.uniqueArray(event, { maxLength: MACHINES, selector: (e) => e.spec.machine }),
})

test('what is granted fits into the budgets together with what is booked, and no repair is granted beside work on a host', () => {
  let granted = 0
  let booked = 0
  fc.assert(
    fc.property(story, ({ most, before, now, events }) => {
      const policies = [aPolicy({ budgets: [{ max: most, of: 'concurrent', per: 'rack' }] })]
      const options = { now: START_MS, leader: 'a' }
      const earlier = before.map(permitOf)
      const first = decide(aSnapshot({ machines: fleet, permits: earlier, policies }), undefined, options)
      const told = first.permits.map((p) => ({
        ...p.permit,
        status: permitStatus(p, [], { now: START_MS, expiresAt: undefined }),
      }))
      const later = now.map((r, n) => permitOf(r, n + before.length))
      const permits = [...told, ...later]
      const snapshot = aSnapshot({ machines: fleet, permits, policies, maintenance: events })
      const second = decide(snapshot, first.ledger, options)
      const grants = second.ledger?.grants ?? first.ledger?.grants ?? []
      const old = new Set((first.ledger?.grants ?? []).map((g) => g.permit))
      const away = events.filter((e) => (bookedFrom(e) ?? Infinity) <= START_MS)
      booked += away.length
      for (const grant of grants.filter((g) => !old.has(g.permit))) {
        granted++
        const kind = permits.find((p) => p.metadata.name === grant.permit)?.spec.requester.kind
        const isPrepared = kind === 'MaintenanceEvent' && away.some((e) => e.spec.machine === grant.name)
        const counted = away.filter((e) => !isPrepared || !(Date.parse(e.spec.notBefore ?? '') > START_MS))
        const inRack = new Set(
          [...grants.map((g) => g.name), ...counted.map((e) => e.spec.machine)].filter(
            (name) => rackOf(name) === rackOf(grant.name),
          ),
        )
        expect(inRack.size).toBeLessThanOrEqual(most)
        if (kind === 'RemedyOperationJob')
          expect(events.filter((e) => e.spec.machine === grant.name && standsOff(e))).toEqual([])
      }
      const kinds = Map.groupBy(grants, (g) => g.target)
      for (const [target, held] of kinds) {
        const by = new Set(held.map((g) => permits.find((p) => p.metadata.name === g.permit)?.spec.requester.kind))
        expect(by.has('RemedyOperationJob') && by.has('MaintenanceEvent'), `${target} has two doctors`).toBe(false)
      }
    }),
    { numRuns: 300 },
  )
  // Otherwise the property proves nothing.
  expect(granted).toBeGreaterThan(100)
  expect(booked).toBeGreaterThan(100)
})
