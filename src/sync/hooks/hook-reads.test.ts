import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { HookReads } from './hook-reads.ts'

test('requests make a read at once, then one every five seconds, and none is lost', async () => {
  const clock = new VirtualClock()
  const reads: number[] = []
  const start = clock.monotonic()
  const looks = new HookReads(clock, () => reads.push(clock.monotonic() - start))
  expect(looks.accept('a/b', '1')).toBe('Read')
  expect([looks.accept('a/b', '1'), looks.accept('a/b', '2'), looks.accept('a/b', '3')]).toEqual([
    'Duplicate',
    'Later',
    'Later',
  ])
  expect(looks.accept('a/c', '1')).toBe('Read')
  await clock.advance(4_999)
  expect(reads).toEqual([0, 0])
  await clock.advance(1)
  expect(reads).toEqual([0, 0, 5_000])
  // One commit per second for a minute.
  for (let n = 0; n < 60; n++) {
    looks.accept('a/b', `commit ${n}`)
    await clock.advance(1_000)
  }
  await clock.advance(5_000)
  expect(reads.length).toBeLessThanOrEqual(3 + 13)
  expect(reads.at(-1)).toBeGreaterThanOrEqual(5_000 + 59_000)
})

test('a request is remembered for ten minutes, and so is a bounded number of them', async () => {
  const clock = new VirtualClock()
  const looks = new HookReads(clock, () => undefined)
  looks.accept('a/b', 'first')
  await clock.advance(600_000)
  expect(looks.accept('a/b', 'first')).toBe('Duplicate')
  await clock.advance(1)
  expect(looks.accept('a/b', 'first')).toBe('Read')
  for (let n = 0; n < 64; n++) looks.accept('a/b', `${n}`)
  expect(looks.accept('a/b', 'first')).toBe('Later')
})

test('what is pending for a source that is gone never happens', async () => {
  const clock = new VirtualClock()
  const reads: string[] = []
  const looks = new HookReads(clock, (source) => reads.push(source))
  looks.accept('a/b', '1')
  looks.accept('a/b', '2')
  looks.keep(() => false)
  await clock.advance(10_000)
  expect(reads).toEqual(['a/b'])
})
