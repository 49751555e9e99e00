import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { exitSoon, LEFTOVER_MS } from './until-ended.ts'

test('a program whose roles ended exits, whatever still runs in it, and not before others could end', async () => {
  const clock = new VirtualClock()
  let exits = 0
  exitSoon(clock, () => exits++)
  await clock.advance(LEFTOVER_MS - 1)
  expect(exits).toBe(0)
  await clock.advance(1)
  expect(exits).toBe(1)
})
