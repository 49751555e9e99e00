// The slot in use was damaged: the next version, or a fresh copy of the same one, still replaces it.
import { expect, test } from 'vitest'
import { slotFolder } from '../node-dir.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

const publisher = newPublisher()
const spec = { service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' } }
const releases = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }))

async function broken() {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(6_000)
  await node.files.remove(slotFolder(node.dir, 'beacon', node.worker.record?.current?.id ?? ''))
  return { clock, node }
}

test('a switch to another version', async () => {
  const { clock, node } = await broken()
  node.obey({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
  await clock.advance(10_000)
  expect([node.worker.record?.state, await node.contentInUse()]).toEqual(['Healthy', expect.stringContaining('1.1.0')])
  await node.worker.close()
})

test('a reinstallation', async () => {
  const { clock, node } = await broken()
  const answer = node.worker.ask('Reinstall')
  await clock.advance(10_000)
  expect([await answer, node.worker.record?.state, await node.contentInUse()]).toEqual([
    { kind: 'Done' },
    'Healthy',
    expect.stringContaining('1.0.0'),
  ])
  await node.worker.close()
})
