import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { REFILL_MS, Refill } from './refill.ts'

/** A queue of three places that is emptied by hand. */
function setup() {
  const clock = new VirtualClock()
  const queue: string[] = []
  const refill = new Refill(
    clock,
    () => ['a', 'b', 'c', 'd'],
    (key) => (queue.length >= 3 ? 'Full' : (queue.push(key), 'Added')),
  )
  return { clock, refill, takeAll: () => queue.splice(0) }
}

test('a pass goes on where it had no room, not from the start', async () => {
  const { clock, refill, takeAll } = setup()
  refill.refused()
  await clock.advance(REFILL_MS)
  expect(takeAll()).toEqual(['a', 'b', 'c'])
  await clock.advance(REFILL_MS)
  expect(takeAll()).toEqual(['d'])
  await clock.advance(10 * REFILL_MS)
  expect(takeAll()).toEqual([])
})

test('a key that is refused after the pass went by it is brought by another pass', async () => {
  const { clock, refill, takeAll } = setup()
  refill.refused()
  await clock.advance(REFILL_MS)
  refill.refused()
  takeAll()
  await clock.advance(REFILL_MS)
  expect(takeAll()).toEqual(['d'])
  await clock.advance(REFILL_MS)
  expect(takeAll()).toEqual(['a', 'b', 'c'])
  await clock.advance(REFILL_MS)
  expect(takeAll()).toEqual(['d'])
  await clock.advance(10 * REFILL_MS)
  expect(takeAll()).toEqual([])
})
