import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Pace } from './pace.ts'

/** Runs of these lengths, one right after the other; returns when each began. */
async function beginnings(lengths: readonly number[], apartMs = 0): Promise<readonly number[]> {
  const clock = new VirtualClock()
  const pace = new Pace(clock)
  const began: number[] = []
  const from = clock.monotonic()
  const running = (async () => {
    for (const ms of lengths) {
      await pace.run(async () => {
        began.push(clock.monotonic() - from)
        await clock.sleep(ms)
      })
      if (apartMs > 0) await clock.sleep(apartMs)
    }
  })()
  await clock.advance(10_000)
  await running
  return began
}

test('after a look that took long, what comes is gathered for as long, but never for more than a quarter of a second', async () => {
  expect(await beginnings([40, 1_000, 0])).toEqual([0, 80, 1_330])
})

test('looks that are short, and looks far apart, are not held up', async () => {
  expect(await beginnings([0, 0, 0])).toEqual([0, 0, 0])
  expect(await beginnings([40, 40, 40], 100)).toEqual([0, 140, 280])
})

test('a wait ends with its signal', async () => {
  const clock = new VirtualClock()
  const pace = new Pace(clock)
  const first = pace.run(() => clock.sleep(200))
  await clock.advance(200)
  await first
  const stop = new AbortController()
  const second = pace.run(async () => 'ran', stop.signal)
  stop.abort(new Error('stopped'))
  await expect(second).rejects.toThrow('stopped')
})
