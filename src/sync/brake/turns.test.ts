// Turns: never more than the limit, clusters that already change come first, and no place is granted twice.
import { expect, test } from 'vitest'
import type { Turn } from '#api/kinds/fleet-brake.ts'
import { timestamp } from '#lib/clock.ts'
import { type Need, planTurns, TURN_MS, turnWait } from './turns.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const turn = (cluster: string, endsInMs: number): Turn => ({
  cluster,
  since: timestamp(NOW - 60_000),
  until: timestamp(NOW + endsInMs),
})
const given = (
  before: readonly Turn[],
  needs: Readonly<Record<string, Need>>,
  { max = 2, returned = [] as readonly string[], gone = [] as readonly string[] } = {},
) =>
  planTurns(
    {
      before,
      needs: new Map(Object.entries(needs)),
      isReturned: (c) => returned.includes(c),
      isThere: (c) => !gone.includes(c),
      max,
    },
    NOW,
  )
const names = (turns: readonly Turn[]) => turns.map(({ cluster }) => cluster)

test('those that change already come before those that would begin', () => {
  expect(names(given([], { a: 'Begins', b: 'Begins', c: 'Changes' }))).toEqual(['a', 'c'])
})

test('a turn that is needed stays, and is renewed when half of it is over', () => {
  const young = turn('a', TURN_MS - 60_000)
  expect(given([young], { a: 'Changes' })).toEqual([young])
  expect(given([turn('a', 60_000)], { a: 'Changes' })[0]?.until).toBe(timestamp(NOW + TURN_MS))
})

test('a turn that is needed no more frees its place when the copy is without it, or its time and a margin are over', () => {
  const needs = { b: 'Begins', c: 'Begins' } as const
  expect(names(given([turn('a', 60_000)], needs))).toEqual(['a', 'b'])
  expect(names(given([turn('a', 60_000)], needs, { returned: ['a'] }))).toEqual(['b', 'c'])
  expect(names(given([turn('a', -60_000)], needs))).toEqual(['a', 'b'])
  expect(names(given([turn('a', -180_000)], needs))).toEqual(['b', 'c'])
})

test('a turn that ended while the hub was away is renewed before another cluster gets its place', () => {
  expect(names(given([turn('a', -600_000), turn('b', -600_000)], { a: 'Changes', b: 'Changes', c: 'Begins' }))).toEqual(
    ['a', 'b'],
  )
})

test('a Cluster that left frees its place at once, and gets none', () => {
  expect(names(given([turn('a', 60_000)], { a: 'Changes', b: 'Begins', c: 'Begins' }, { gone: ['a'] }))).toEqual([
    'b',
    'c',
  ])
})

test('a lower limit takes no turn away, and none of 0 gives any', () => {
  expect(
    names(given([turn('a', 60_000), turn('b', 60_000)], { a: 'Changes', b: 'Changes', c: 'Begins' }, { max: 1 })),
  ).toEqual(['a', 'b'])
  expect(given([], { a: 'Begins' }, { max: 0 })).toEqual([])
})

test('a cluster without a turn reports the limit only where it is reached', () => {
  expect(turnWait(1, 5).seen).toBe('its turn among the changing clusters is not recorded yet')
  expect(turnWait(1, 1).seen).toBe('1 cluster of the fleet is changing (limit 1)')
  expect(turnWait(2, 2).seen).toBe('2 clusters of the fleet are changing (limit 2)')
})
