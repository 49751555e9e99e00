import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { DefenderTime } from './defender-time.ts'

const HOUR = 3_600_000

test.each([
  ['forward', 2 * HOUR],
  ['back', -2 * HOUR],
  ['to 1970', -1_767_000_000_000],
])('F16 a wall clock that jumps %s moves it not at all', (_, jump) => {
  const clock = new VirtualClock()
  const time = new DefenderTime(clock)
  const start = time.at(undefined)
  clock.skip(1_000)
  clock.jumpWall(jump)
  expect(time.at(start)).toBe(start + 1_000)
})

test('after a restart it goes on from the ledger by what the wall clock says has passed', () => {
  const clock = new VirtualClock()
  const asOf = clock.now() - HOUR
  expect(new DefenderTime(clock).at(asOf)).toBe(asOf + HOUR)
})

test('F16 a wall clock that is ahead at the start is not believed against the API server', () => {
  const clock = new VirtualClock()
  const asOf = clock.now()
  clock.jumpWall(2 * HOUR)
  expect(new DefenderTime(clock, () => asOf + 5_000).at(asOf)).toBe(asOf + 5_000)
})

test('F16 a wall clock that is behind at the start takes nothing back', () => {
  const clock = new VirtualClock()
  const asOf = clock.now()
  clock.jumpWall(-2 * HOUR)
  expect(new DefenderTime(clock).at(asOf)).toBe(asOf)
})

test('a ledger that another leader wrote ahead of us is caught up with', () => {
  const clock = new VirtualClock()
  const time = new DefenderTime(clock)
  const start = time.at(undefined)
  expect(time.at(start + HOUR)).toBe(start + HOUR)
  clock.skip(10)
  expect(time.at(start)).toBe(start + HOUR + 10)
})
