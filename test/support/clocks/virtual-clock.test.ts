import { expect, test } from 'vitest'
import { VirtualClock } from './virtual-clock.ts'

test('timers fire in order of their time, and of their arming when equal', async () => {
  const clock = new VirtualClock()
  const fired: string[] = []
  clock.after(20, () => fired.push('c'))
  clock.after(10, () => fired.push('a'))
  clock.after(10, () => fired.push('b'))
  await clock.advance(20)
  expect(fired).toEqual(['a', 'b', 'c'])
})

test('a chain of sleeps inside one advance runs at the right moments', async () => {
  const clock = new VirtualClock()
  const at: number[] = []
  const run = async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10)
      at.push(clock.monotonic())
    }
  }
  const running = run()
  await clock.advance(25)
  expect(at).toEqual([10, 20])
  expect(clock.monotonic()).toBe(25)
  await clock.advance(5)
  await running
  expect(at).toEqual([10, 20, 30])
})

test('a cancelled timer never fires and does not hold up idleness', async () => {
  const clock = new VirtualClock()
  const timer = clock.after(1_000, () => expect.unreachable())
  timer.cancel()
  expect(await clock.runUntilIdle()).toBe(0)
})

test('F16 the wall clock jumps by hours, monotonic time and timers do not notice', async () => {
  const clock = new VirtualClock()
  const wall = clock.now()
  let isFired = false
  clock.after(100, () => (isFired = true))
  clock.jumpWall(-2 * 3_600_000)
  await clock.advance(99)
  expect([isFired, clock.monotonic(), clock.now()]).toEqual([false, 99, wall + 99 - 7_200_000])
  await clock.advance(1)
  expect(isFired).toBe(true)
})

test('a stopped process finds its timers overdue when it goes on', async () => {
  const clock = new VirtualClock()
  const fired: number[] = []
  clock.after(10, () => fired.push(clock.monotonic()))
  clock.skip(5_000)
  expect(fired).toEqual([])
  await clock.advance(0)
  expect(fired).toEqual([5_000])
})

test('running until idle is bounded by time when something repeats for ever', async () => {
  const clock = new VirtualClock()
  let beats = 0
  const beat = () => void (beats++, clock.after(10, beat))
  beat()
  await clock.runUntilIdle(100)
  expect(beats).toBe(11)
})
