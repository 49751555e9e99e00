import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA } from '#api/kinds/maintenance-event.ts'
import { noticesOf, isReported, isMassReclaim } from './reported.ts'

const SPOT = { id: 'spot-1', kind: 'Reclaim', state: 'Scheduled', dataLoss: true, notBefore: '2026-03-03T08:22:00Z' }

const machine = (items: readonly object[] | null = [SPOT], notices: 'AWS' | 'Alicloud' | null = 'AWS') =>
  ({
    metadata: { name: 'm-1', uid: 'u-1' },
    spec: { providerID: 'cloud://m-1', ...(notices && { notices }) },
    status: { ...(items && { notices: { from: 'AWS', items } }) },
  }) as unknown as Machine

const event = (spec: object = {}) =>
  ({
    metadata: { name: 'reclaim-1' },
    spec: { source: METADATA, eventId: 'spot-1', kind: 'Reclaim', host: { id: 'cloud://m-1' }, ...spec },
  }) as unknown as MaintenanceEvent

test('the notices of the agent become what a provider would list', () => {
  expect(noticesOf(machine())).toEqual([
    {
      eventId: 'spot-1',
      providerID: 'cloud://m-1',
      kind: 'Reclaim',
      state: 'Scheduled',
      isUnplanned: false,
      losesData: true,
      notBefore: '2026-03-03T08:22:00Z',
      answers: [],
      description: '',
    },
  ])
})

describe('nothing is concluded', () => {
  const unknown = {
    'before the agent has read everything once': machine(null),
    'from the report of another cloud': machine([SPOT], 'Alicloud'),
  }
  test.each(Object.entries(unknown))('%s', (_, seen) => {
    expect([noticesOf(seen), isReported(event(), seen)]).toEqual([undefined, undefined])
  })
})

test.each([
  ['the agent lists it', event(), machine(), true],
  ['the provider reported it first', event({ source: 'cloud', eventId: 'reclaim-i-1' }), machine(), true],
  ['the agent no longer lists it', event(), machine([]), false],
  ['a person ended the questions', event(), machine([SPOT], null), false],
  ['it is of another host', event({ host: { id: 'cloud://m-0' } }), machine(), false],
])('an event is on the report or not: %s', (_, of, seen, expected) => {
  expect(isReported(of, seen)).toBe(expected)
})

const NOW = Date.parse('2026-03-03T08:00:00Z')
const ONE_NOT_ASKED = machine([SPOT], null)
const fleetOf = (asked: number, reporting: number) =>
  Array.from({ length: asked }, (_, n) => {
    const { metadata, ...rest } = machine(n < reporting ? [SPOT] : [])
    return { ...rest, metadata: { ...metadata, name: `m-${n}` } }
  })

test.each([
  ['all of a small fleet', 9, 9, false],
  ['half of a fleet', 10, 20, true],
  ['less than half of it', 10, 21, false],
])('reports of %s count as a mass, or not', (_, reporting, asked, expected) => {
  expect(isMassReclaim([...fleetOf(asked, reporting), ONE_NOT_ASKED], [], NOW)).toBe(expected)
})

describe('of a mass only the end is seen: what was believed of it counts', () => {
  const MINUTE = 60_000
  const believed = (
    n: number,
    { minutesAgo = 20, ...spec }: { minutesAgo?: number; [field: string]: unknown } = {},
  ) => {
    const creationTimestamp = new Date(NOW - minutesAgo * MINUTE).toISOString()
    return { ...event({ machine: `m-${n}`, ...spec }), metadata: { name: `reclaim-${n}`, creationTimestamp } }
  }
  const ofTheLastNine = (how: { minutesAgo?: number; [field: string]: unknown } = {}) =>
    Array.from({ length: 9 }, (_, n) => believed(11 + n, how))
  test.each([
    ['nine before, one is left', ofTheLastNine(), true],
    ['nine of machines that are deleted by now', ofTheLastNine().map((e, n) => believed(100 + n)), false],
    ['nine of longer ago', ofTheLastNine({ minutesAgo: 31 }), false],
    ['nine that a provider lists', ofTheLastNine({ source: 'cloud' }), false],
    ['nine for people', ofTheLastNine({ kind: 'Notice' }), false],
    ['one host, believed nine times', ofTheLastNine().map(() => believed(1)), false],
  ])('%s', (_, events, expected) => {
    expect(isMassReclaim(fleetOf(20, 1), events as MaintenanceEvent[], NOW)).toBe(expected)
  })
})
