// A component's loop while the break-glass file exists on the node, with an in-memory disk and recorded processes.
import { expect, test } from 'vitest'
import { writeDurably } from '../files/durable.ts'
import { frozenFile } from '../node-dir.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { AskResult } from './asks.ts'

const publisher = newPublisher()
const spec = { service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' } }
const releases = ['1.0.0', '1.1.0'].map((version) => release(publisher, { version, spec }))

async function installed() {
  const clock = new VirtualClock()
  let serving = 0
  const hooks: { onServe?: () => Promise<void> } = {}
  const node = new FakeNode({
    publisher,
    releases,
    clock,
    serve: () => {
      serving++
      void hooks.onServe?.()
      return undefined
    },
  })
  await node.start()
  node.obey({ version: '1.0.0', attempt: 1 })
  await clock.advance(6_000)
  const freeze = () => writeDurably(node.files, frozenFile(node.dir), 'a test\n')
  const thaw = async () => {
    await node.files.remove(frozenFile(node.dir))
    node.worker.wake()
    await clock.advance(20_000)
  }
  return { clock, node, hooks, freeze, thaw, served: () => serving }
}

const REFUSED: AskResult = { kind: 'Failed', message: 'the node was frozen by a file on the node' }

test.each(['Restart', 'Reinstall'] as const)(
  'a %s that a repair asks for is refused, and does not take effect when the node thaws',
  async (kind) => {
    const { clock, node, freeze, thaw } = await installed()
    const [starts, slot] = [node.processes.starts.length, node.worker.record?.current?.id]
    await freeze()
    const answer = node.worker.ask(kind)
    await clock.advance(1_000)
    expect(await answer).toEqual(REFUSED)
    await thaw()
    expect([node.processes.starts.length, node.worker.record?.current?.id]).toEqual([starts, slot])
    await node.worker.close()
  },
)

test('a fresh copy that was fetched while the node was being frozen is not put to use', async () => {
  const { clock, node, hooks, freeze } = await installed()
  const slot = node.worker.record?.current?.id
  const before = await node.linkInUse()
  hooks.onServe = freeze
  // Fetched again, because the kept artifact was deleted.
  await node.files.remove(`${node.dir.state}/artifacts`)
  const answer = node.worker.ask('Reinstall')
  await clock.advance(10_000)
  expect(await answer).toEqual(REFUSED)
  expect([node.worker.record?.current?.id, await node.linkInUse()]).toEqual([slot, before])
  await node.worker.close()
})

test('an order under a granted permit waits, its permit unread, and is followed when the node thaws', async () => {
  const { clock, node, freeze, thaw } = await installed()
  await freeze()
  node.obey({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
  await clock.advance(60_000)
  expect([node.worker.record?.state, node.permitsRead, await node.contentInUse()]).toEqual([
    'Staged',
    [],
    'beacon 1.0.0',
  ])
  node.processes.change('beacon', 'Crashed')
  await clock.advance(1_000)
  expect(node.processes.reading('beacon')).toBe('Running')
  await thaw()
  expect([node.worker.record?.state, await node.contentInUse()]).toEqual(['Healthy', 'beacon 1.1.0'])
  await node.worker.close()
})
