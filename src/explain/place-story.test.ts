import { expect, test } from 'vitest'
import { placeStory, type PlaceSeen } from './place-story.ts'
import { storyLines } from './finding.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')

const machine = (name: string, rack: string) => ({
  metadata: { name, uid: `uid-${name}` },
  spec: { rack, zone: 'z1' },
})

const permit = (name: string, kind: string, target: string, phase: string) => ({
  metadata: { name: `permit-of-${name}` },
  spec: { requester: { manager: 'm', kind, name } },
  status: { phase, verdicts: [{ gate: 'Blame', verdict: 'Waiting', target: `uid-${target}` }] },
})

const seen = (blames: readonly object[]): PlaceSeen =>
  ({
    machines: [machine('m-1', 'r1'), machine('m-2', 'r1'), machine('m-3', 'r1'), machine('m-4', 'r2')],
    events: [
      {
        metadata: { name: 'stop-1' },
        spec: { machine: 'm-2', source: 'metal', eventId: 'e', kind: 'Stop', state: 'Scheduled' },
        status: {
          waitingFor: {
            predicate: 'HealthFloor',
            seen: '1 of 3 left',
            unblock: 'more are healthy',
            since: '2026-11-23T11:58:00Z',
          },
        },
      },
    ],
    permits: [
      permit('fix-m-1', 'RemedyOperationJob', 'm-1', 'Requested'),
      permit('base', 'MachineComponentSet', 'm-3', 'Requested'),
      permit('elsewhere', 'RemedyOperationJob', 'm-4', 'Requested'),
      permit('over', 'RemedyOperationJob', 'm-1', 'Denied'),
    ],
    ledger: { spec: { sequence: 1, blames } },
  }) as unknown as PlaceSeen

const blame = {
  kind: 'Rack',
  value: 'r1',
  since: '2026-11-23T11:30:00Z',
  seenAt: '2026-11-23T11:55:00Z',
  failing: 3,
  members: 3,
  failingElsewhere: 0,
  elsewhere: 1,
  machines: ['m-1', 'm-2', 'm-3'],
}

test('a rack that is blamed: its machines, the repairs and rollouts that wait, and when it ends', () => {
  expect(storyLines(placeStory({ kind: 'rack', name: 'r1' }, seen([blame]), NOW))).toEqual([
    'rack/r1 has 3 machines and is blamed',
    'Blamed for 30m: 3 of 3 fail, 0 of 1 elsewhere: m-1, m-2, m-3',
    '  repairs of single machines in it and rollouts to them wait',
    '  repair that waits: job/fix-m-1',
    '  rollout that waits: set/base',
    '  failures were counted last 5m ago',
    '  unblocks when: fewer than one in twenty of its machines fail for 30m',
    'Machines: m-1, m-2, m-3',
    'Counted as away by the Defender: none of its machines.',
    'Work on a host: maintenanceevent/stop-1 (Stop by metal) is Announced',
    '  Stop by metal, at a time that its source does not name',
    '  Waiting for 2m: HealthFloor',
    '    observed: 1 of 3 left',
    '    unblocks when: more are healthy',
  ])
})

test('the blame of a rack is not that of its zone or of its neighbour', () => {
  expect(storyLines(placeStory({ kind: 'zone', name: 'z1' }, seen([blame]), NOW))[1]).toBe(
    'Not blamed: its machines do not fail together.',
  )
  expect(storyLines(placeStory({ kind: 'rack', name: 'r2' }, seen([blame]), NOW))).toEqual([
    'rack/r2 has 1 machine',
    'Not blamed: its machines do not fail together.',
    'Machines: m-4',
    'Counted as away by the Defender: none of its machines.',
  ])
})

const grant = (name: string, more: object = {}) => ({
  permit: 'base-s2-0',
  permitUid: 'p',
  target: `uid-${name}`,
  kind: 'Machine',
  name,
  operations: ['SwitchComponent'],
  component: 'kubelet',
  grantedAt: '2026-11-23T11:58:00Z',
  ...more,
})
const reservation = (name: string, more: object = {}) => ({
  event: `stop-${name}`,
  target: `uid-${name}`,
  name,
  from: '2026-11-23T11:00:00Z',
  dataLoss: false,
  ...more,
})

const awayLines = (spec: object): readonly string[] => {
  const ledger = { spec: { sequence: 1, ...spec } } as unknown as NonNullable<PlaceSeen['ledger']>
  const lines = storyLines(placeStory({ kind: 'rack', name: 'r1' }, { ...seen([]), events: [], ledger }, NOW))
  return lines.slice(3)
}

test('the machines of a rack that its budgets count: granted operations and booked work, each once, and none of a neighbor', () => {
  expect(
    awayLines({
      grants: [
        grant('m-1'),
        grant('m-4'),
        grant('m-3', { exempt: 'NoDisruption' }),
        grant('m-2', { state: 'Orphaned' }),
      ],
      reservations: [
        reservation('m-2'),
        reservation('m-3', { notBefore: '2026-11-23T14:00:00Z' }),
        reservation('m-4', { notBefore: '2026-11-23T14:00:00Z' }),
      ],
      reservationCount: 3,
    }),
  ).toEqual([
    'Counted as away by the Defender: 3 of 3 machines',
    '  m-1: SwitchComponent of kubelet was granted 2m ago (permit/base-s2-0)',
    '  m-2: SwitchComponent of kubelet was granted 2m ago (permit/base-s2-0); its result is unknown',
    '  m-2: has counted for 1h; the work of maintenanceevent/stop-m-2 has begun',
    '  m-3: has counted for 1h; the work of maintenanceevent/stop-m-3 begins on Mon 23 Nov at 14:00 UTC',
  ])
})

test('a ledger that does not list every booking says so, also below a list that is cut', () => {
  const many = Array.from({ length: 25 }, (_, n) => reservation('m-1', { event: `e-${n}` }))
  expect(awayLines({ reservations: many, reservationCount: 340 }).slice(-2)).toEqual([
    '  and 5 more',
    '  the ledger lists 25 of 340 bookings: here may be more',
  ])
  expect(awayLines({ reservations: [reservation('m-4')], reservationCount: 340 })).toEqual([
    'Counted as away by the Defender: none of those that its ledger lists',
    '  the ledger lists 1 of 340 bookings: here may be more',
  ])
})
