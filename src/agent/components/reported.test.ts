// What a component's loop reports, and how often, because each report is a write to the API server.
import { expect, test } from 'vitest'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

const publisher = newPublisher()
const spec = { service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' } }
const releases = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }))

test('between the order and its switch nothing is reported: reading the permit is no news', async () => {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(6_000)
  node.obey({ version: '1.1.0', attempt: 2 })
  await clock.advance(6_000)
  expect(node.told.at(-1)).toEqual({ state: 'Staged', waiting: 'waiting for the order to switch' })
  const before = node.told.length
  node.obey({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
  await clock.advance(6_000)
  const since = node.told.slice(before)
  expect(node.permitsRead).toEqual(['p'])
  expect(since.filter((t) => t.state === 'Staged')).toEqual([])
  expect(since.at(-1)?.state).toBe('Healthy')
  await node.worker.close()
})
