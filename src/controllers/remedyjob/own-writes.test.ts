import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/virtual-clock.ts'
import { LAG_MS, OwnWrites } from './own-writes.ts'

const of = (uid: string, resourceVersion: string) => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x', uid, resourceVersion },
})

test('what a cache shows is behind while it is older than what was written, and of the same object', () => {
  const own = new OwnWrites(new VirtualClock())
  expect(own.isBehind(of('a', '9'))).toBe(false)
  own.note(of('a', '10'))
  expect([own.isBehind(of('a', '9')), own.isBehind(of('b', '9')), own.isBehind(of('a', '10'))]).toEqual([
    true,
    false,
    false,
  ])
  // Once it was seen nothing older comes back.
  expect(own.isBehind(of('a', '9'))).toBe(false)
})

test('a cache that never shows the write is believed again after a moment', async () => {
  const clock = new VirtualClock()
  const own = new OwnWrites(clock)
  own.note(of('a', '10'))
  await clock.advance(LAG_MS - 1)
  expect(own.isBehind(of('a', '9'))).toBe(true)
  await clock.advance(1)
  expect(own.isBehind(of('a', '9'))).toBe(false)
})
