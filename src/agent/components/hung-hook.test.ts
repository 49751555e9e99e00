// A hook that hangs in the kernel: what runs is not disrupted again before it has ended.
import { expect, test } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { agentErrors } from '../agent-errors.ts'
import { componentStatus } from '../status/machine-status.ts'

const publisher = newPublisher()
const spec = {
  service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
  probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
}
const hooks = { postSwitch: { command: ['/hook'], timeout: '1s' } }
const order = { version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }

const first = { version: '1.0.0', attempt: 1 }

async function hanging() {
  let hung: number | undefined
  let isHanging = true
  const clock = new VirtualClock()
  const node = new FakeNode({
    publisher,
    releases: [
      release(publisher, { version: '1.0.0', spec }),
      release(publisher, { version: '1.1.0', spec: { ...spec, hooks } }),
    ],
    clock,
    hungHook: () => hung,
    runHook: async () => {
      if (!isHanging) return
      hung = 4711
      throw new KubeNodeError(agentErrors.KN8033_hung({ program: '/hook', why: 'timed out', pid: '4711' }), {
        data: { reason: 'HostUnsuitable' },
      })
    },
  })
  await node.start()
  node.obey(first)
  await clock.advance(10_000)
  node.obey(order)
  await clock.advance(5_000)
  const seen = () => node.worker.record && componentStatus(node.worker.record, order, node.worker)
  expect([await node.contentInUse(), node.worker.record?.pins]).toEqual(['beacon 1.0.0', []])
  expect(seen()).toMatchObject({
    state: 'Staged',
    reason: 'HostUnsuitable',
    message: expect.stringMatching(/^KN8033: .* process 4711 does not end/),
  })
  return {
    clock,
    node,
    seen,
    ends: () => {
      hung = undefined
      isHanging = false
    },
  }
}

test('F33 a hook that hangs in the kernel brings back what ran, and the switch waits for its end and is tried again', async () => {
  const { clock, node, ends } = await hanging()
  const before = node.processes.starts.length
  await clock.advance(300_000)
  expect([node.processes.starts.length, await node.contentInUse()]).toEqual([before, 'beacon 1.0.0'])
  expect(node.worker.waiting).toMatch(/^process 4711 of an earlier hook/)
  ends()
  await clock.advance(30_000)
  expect([await node.contentInUse(), node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
  await node.worker.close()
})

test('F33 a switch ends as rolled back where the hook does not end, and so does the next one before anything stops', async () => {
  const { clock, node, seen, ends } = await hanging()
  const before = node.processes.starts.length
  await clock.advance(700_000)
  expect(seen()).toMatchObject({
    state: 'RolledBack',
    reason: 'HostUnsuitable',
    message: expect.stringMatching(/^process 4711 of an earlier hook/),
  })
  node.obey({ version: '1.1.0', attempt: 3 })
  // Without an order, however long, it waits.
  await clock.advance(3_600_000)
  expect(node.worker.record?.state).toBe('Staged')
  node.obey({ version: '1.1.0', attempt: 3, switch: { attempt: 3, permit: 'p' } })
  await clock.advance(500_000)
  expect(node.worker.record?.state).toBe('Staged')
  await clock.advance(200_000)
  expect(node.worker.record?.state).toBe('RolledBack')
  expect(node.processes.starts.length).toBe(before)
  ends()
  node.obey({ version: '1.1.0', attempt: 4, switch: { attempt: 4, permit: 'p' } })
  await clock.advance(60_000)
  expect([await node.contentInUse(), node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
  await node.worker.close()
})
