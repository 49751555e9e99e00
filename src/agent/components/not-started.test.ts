// A component's start is refused because its unit is masked or its user does not exist; and reports during a long step.
import { expect, test } from 'vitest'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

const publisher = newPublisher()
const spec = { service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' } }
const releases = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }))
const ORDERED = { version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }

async function installed() {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(6_000)
  return { clock, node }
}

test('it is degraded with the reason, tried ever more rarely, and another version may take its place', async () => {
  const { clock, node } = await installed()
  const slot = node.worker.record?.current?.id
  let tries = 0
  node.processes.refuses = (request) => (request.slot === slot && ++tries > 0 ? 'the unit is masked' : undefined)
  node.processes.change('beacon', 'Stopped')
  node.worker.wake()
  await clock.advance(300_000)
  expect([node.worker.record?.state, node.worker.record?.message, node.worker.startProblem]).toEqual([
    'Degraded',
    'cannot be started: the unit is masked',
    'the unit is masked',
  ])
  expect(tries).toBeGreaterThan(4)
  expect(tries).toBeLessThan(12)
  node.obey(ORDERED)
  await clock.advance(10_000)
  expect([node.worker.record?.state, node.worker.record?.current?.version, node.worker.startProblem]).toEqual([
    'Healthy',
    '1.1.0',
    undefined,
  ])
  await node.worker.close()
})

test('once the reason is gone it runs again', async () => {
  const { clock, node } = await installed()
  node.processes.refuses = () => 'there is no user etcd'
  node.processes.change('beacon', 'Crashed')
  node.worker.wake()
  await clock.advance(100_000)
  node.processes.refuses = () => undefined
  await clock.advance(60_000)
  expect([node.worker.record?.state, node.worker.startProblem]).toEqual(['Healthy', undefined])
  await node.worker.close()
})

test('a switch whose stop takes long is reported while it lasts', async () => {
  const { clock, node } = await installed()
  node.processes.stopping = () => clock.sleep(70_000)
  node.obey(ORDERED)
  await clock.advance(10_000)
  expect(node.told.at(-1)).toEqual({ state: 'Switching', waiting: undefined })
  await clock.advance(80_000)
  expect(node.told.at(-1)?.state).toBe('Healthy')
  await node.worker.close()
})
