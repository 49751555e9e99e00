import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { addressTowards, ownAddress } from './own-address.ts'

test.each([
  ['https://127.0.0.1:6443', '127.0.0.1'],
  ['https://127.9.9.9', '127.0.0.1'],
  ['https://[not-an-address', undefined],
])('towards %s it is %s', async (server, address) => expect(await addressTowards(server)).toBe(address))

test('it is asked for again after a minute, and the last one that was found stays', async () => {
  const clock = new VirtualClock()
  const answers = ['10.0.0.5', undefined, '192.168.7.5']
  let changes = 0
  const own = ownAddress(
    clock,
    () => Promise.resolve(answers.shift()),
    () => void changes++,
  )
  const seen: unknown[] = []
  for (let n = 0; n < 3; n++) {
    void own.value
    await Promise.resolve()
    await Promise.resolve()
    seen.push(own.value)
    await clock.advance(61_000)
  }
  expect([seen, changes]).toEqual([['10.0.0.5', '10.0.0.5', '192.168.7.5'], 2])
})
