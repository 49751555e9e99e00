import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { SharedBodies } from './shared-bodies.ts'

function counted() {
  const clock = new VirtualClock()
  const bodies = new SharedBodies(clock)
  let made = 0
  const ask = async (key: string, revision: string): Promise<string> =>
    (
      await bodies.of(key, revision, () => Promise.resolve({ bytes: Buffer.from(`${++made}`), isPacked: false }))
    ).bytes.toString()
  return { clock, ask }
}

test('all who ask at the same time for the same get the same bytes, and others do not', async () => {
  const { ask } = counted()
  expect([await ask('home a', '1'), await ask('home a', '1')]).toEqual(['1', '1'])
  expect([await ask('home b', '1'), await ask('home a', '2')]).toEqual(['2', '3'])
})

test('bytes are as old as a second, and some are kept at most', async () => {
  const { clock, ask } = counted()
  await ask('home', '1')
  for (let n = 0; n < 32; n++) await ask(`set/${n}`, '1')
  expect(await ask('set/31', '1')).toBe('33')
  expect(await ask('home', '1')).toBe('34')
  await clock.advance(1_000)
  expect(await ask('home', '1')).toBe('35')
})
