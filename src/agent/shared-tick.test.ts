import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { EACH_TICK_MS, withSharedTick } from './shared-tick.ts'

test('long waits end together, short ones when they are over', async () => {
  const base = new VirtualClock()
  const clock = withSharedTick(base)
  await base.advance(300)
  const ends: string[] = []
  for (const ms of [100, 899, 900, 1_000, 1_400, 2_600])
    clock.after(ms, () => ends.push(`${ms} at ${clock.monotonic()}`))
  await base.advance(10_000)
  expect(ends).toEqual(['100 at 400', '899 at 1199', '900 at 2000', '1000 at 2000', '1400 at 2000', '2600 at 3000'])
})

test('what is due with each tick keeps to the second, and no caller waits for what was cancelled', async () => {
  const base = new VirtualClock()
  const clock = withSharedTick(base)
  let ticks = 0
  const again = (): void => void clock.after(EACH_TICK_MS, () => (ticks++, again()))
  again()
  clock.after(60_000, () => expect.fail('it was cancelled')).cancel()
  await base.advance(60_000)
  expect(ticks).toBe(60)
})

test('never early, late by less than a tick, each once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(20_000), fc.nat(9_000), fc.boolean()), { maxLength: 30 }),
      async (waits) => {
        const base = new VirtualClock()
        const clock = withSharedTick(base)
        const late: number[] = []
        let expected = 0
        for (const [beginAt, ms, isCancelled] of waits)
          base.after(beginAt, () => {
            const timer = clock.after(ms, () => late.push(clock.monotonic() - beginAt - ms))
            if (isCancelled) timer.cancel()
            else expected++
          })
        await base.advance(31_000)
        expect(late.length).toBe(expected)
        expect(late.filter((l) => l < 0 || l >= 1_000)).toEqual([])
      },
    ),
    { numRuns: 100 },
  )
})

test('a sleep ends early with its signal', async () => {
  const base = new VirtualClock()
  const stop = new AbortController()
  const slept = withSharedTick(base)
    .sleep(5_000, stop.signal)
    .then(
      () => 'slept',
      () => 'woken',
    )
  await base.advance(1_000)
  stop.abort(new Error('enough'))
  expect(await slept).toBe('woken')
})
