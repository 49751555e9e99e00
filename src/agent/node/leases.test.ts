import { expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { keepLeases } from './leases.ts'
import { leaseType } from './types.ts'
import { kubeErrors } from '#kube/kube-errors.ts'

const EVERY_MS = 10_000

/** A lease that is renewed for the whole test, over a network that can be cut. */
function kept(isWanted?: () => Promise<boolean>) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [], bookmarkEveryMs: 0 })
  const inner = fake.client({ actor: 'agent' })
  const network = { isUp: true, isOurs: true }
  const back: number[] = []
  const away = () =>
    Promise.reject(new KubeNodeError(kubeErrors.KN2001({ action: 'renew', why: 'away' }), { retry: 'later' }))
  const client: KubeClient = {
    ...inner,
    patch: (...args) => (network.isUp ? inner.patch(...args) : away()),
    create: (...args) => (network.isUp ? inner.create(...args) : away()),
  }
  const deps = { client, clock, random: seededRandom(2), log: silentLogger, everyMs: EVERY_MS }
  const lease = { namespace: 'kube-node-lease', name: 'm', holder: 'm', ...defined({ isWanted }) }
  const other = { namespace: 'kubenode-system', name: 'agent-m', holder: 'm' }
  const stop = new AbortController()
  const ended = keepLeases(
    deps,
    [other, { ...lease, isOurs: () => network.isOurs, onBack: () => back.push(clock.monotonic()) }],
    stop.signal,
  )
  const renewedAt = () => fake.peek(leaseType, { namespace: 'kube-node-lease', name: 'm' })?.spec
  const take = (holderIdentity: string) =>
    inner.patch(leaseType, lease, { type: 'merge', value: { spec: { holderIdentity } } })
  return { clock, network, back, renewedAt, take, end: () => (stop.abort(), ended) }
}

test('a lease that is renewed in time reports no return', async () => {
  const agent = kept()
  await agent.clock.advance(600_000)
  expect(agent.renewedAt()).toBeDefined()
  expect(agent.back).toEqual([])
  await agent.end()
})

test('the first renewal after a silence tells of it once: the Node may have been called Unknown meanwhile', async () => {
  const agent = kept()
  await agent.clock.advance(60_000)
  agent.network.isUp = false
  await agent.clock.advance(60_000)
  expect(agent.back).toEqual([])
  agent.network.isUp = true
  await agent.clock.advance(60_000)
  expect(agent.back).toHaveLength(1)
  expect(agent.back[0]).toBeLessThan(120_000 + 2 * EVERY_MS)
  await agent.end()
})

test('who holds it is said at first, now and then, and after a silence', async () => {
  const agent = kept()
  const holder = () => (agent.renewedAt() as { holderIdentity?: string } | undefined)?.holderIdentity
  await agent.clock.advance(1_000)
  expect(holder()).toBe('m')
  await agent.take('another')
  await agent.clock.advance(3 * EVERY_MS)
  expect(holder()).toBe('another')
  await agent.clock.advance(40 * EVERY_MS)
  expect(holder()).toBe('m')
  await agent.take('another')
  agent.network.isUp = false
  await agent.clock.advance(3 * EVERY_MS)
  agent.network.isUp = true
  await agent.clock.advance(3 * EVERY_MS)
  expect(holder()).toBe('m')
  await agent.end()
})

test.each([
  ['is made again while its Machine is there', true],
  ['is not made again once its Machine is gone: nothing would delete it', false],
])('a lease that was deleted %s', async (_, isThere) => {
  const agent = kept(async () => isThere)
  await agent.clock.advance(1_000)
  expect(agent.renewedAt()).toEqual(isThere ? expect.anything() : undefined)
  await agent.clock.advance(3 * EVERY_MS)
  expect(agent.renewedAt()).toEqual(isThere ? expect.anything() : undefined)
  await agent.end()
})

test('a lease that another program keeps is left alone, and kept again when that program is gone', async () => {
  const agent = kept()
  await agent.clock.advance(60_000)
  agent.network.isOurs = false
  const before = agent.renewedAt()
  await agent.clock.advance(60_000)
  expect(agent.renewedAt()).toEqual(before)
  agent.network.isOurs = true
  await agent.clock.advance(60_000)
  expect(agent.renewedAt()).not.toEqual(before)
  expect(agent.back).toHaveLength(1)
  await agent.end()
})
