import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { programClocks } from './program-clocks.ts'

const RENEWS_EVERY_MS = 2_000

/** A server whose leader renews its Lease by a different clock. */
function world({ aheadMs = 0, renews = true, status = 200 }) {
  const clock = new VirtualClock()
  const raw = () => {
    const now = clock.now()
    const renewedAt = (renews ? now - (now % RENEWS_EVERY_MS) : 0) + aheadMs
    const spec = { holderIdentity: 'a', renewTime: new Date(renewedAt).toISOString() }
    return Promise.resolve({ status, text: JSON.stringify({ spec }), headers: { date: new Date(now).toUTCString() } })
  }
  const client = { raw } as unknown as KubeClient
  const context = { client, clock, types: undefined as never, print: () => undefined, timeoutMs: 0 }
  return async () => {
    const found = programClocks(context, ['controllers'])
    found.catch(() => undefined)
    await clock.advance(60_000)
    return found
  }
}

test.each([
  ['one that agrees', 0, 0],
  ['one that is an hour ahead', 3_600_000, 3_598_000],
  ['one that is an hour behind', -3_600_000, 3_598_000],
])('%s', async (_, aheadMs, atLeast) => {
  const [found] = await world({ aheadMs })()
  expect(found?.role).toBe('controllers')
  expect(found?.apartMs).toBeGreaterThanOrEqual(atLeast)
  expect(found?.apartMs).toBeLessThanOrEqual(atLeast + 2_000)
})

test('a Lease that is not renewed says nothing about a clock, and neither does one that is not there', async () => {
  expect(await world({ renews: false })()).toEqual([])
  expect(await world({ status: 404 })()).toEqual([])
})

test('a Lease that cannot be read is no clock that agrees', async () => {
  await expect(world({ status: 403 })()).rejects.toThrow('HTTP 403')
})
