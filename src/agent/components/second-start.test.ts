// One exit in the settle window without evidence against the version restarts the window. A second exit counts, and so does the version's own crash.
import { describe, expect, test } from 'vitest'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

const publisher = newPublisher()
const SETTLE_MS = 10_000
const releases = ['1.0.0', '1.1.0'].map((version) =>
  release(publisher, {
    version,
    spec: {
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '10s' }],
    },
  }),
)
const killed: ProcessEnd = { how: 'ended by SIGKILL', isEvidence: false }
const crashed: ProcessEnd = { how: 'exited with code 1', isEvidence: true }
const unseen: ProcessEnd = { how: 'ended while the agent was not running', isEvidence: false }

const order = (version: string, attempt: number): TestOrder => ({
  version,
  attempt,
  ...(attempt > 1 && { switch: { attempt, permit: 'p' } }),
})

/** Halfway through the settle window of the last version, with the earlier ones installed. */
async function settling(versions: readonly string[]) {
  const [disk, processes, clock] = [new MemoryFiles(), new FakeProcesses(), new VirtualClock()]
  const node = new FakeNode({ publisher, releases, clock, disk, processes })
  await node.start()
  for (const [n, version] of versions.entries()) {
    node.obey(order(version, n + 1))
    await clock.advance(n === versions.length - 1 ? SETTLE_MS / 2 : 3 * SETTLE_MS)
  }
  expect(node.worker.record?.state).toBe('Probing')
  const end = async (how: ProcessEnd) => {
    processes.change('beacon', 'Crashed', how)
    await clock.advance(100)
  }
  return { node, disk, processes, clock, end, state: () => node.worker.record?.state }
}

describe.each([
  ['forward', ['1.0.0', '1.1.0']],
  ['back', ['1.0.0', '1.1.0', '1.0.0']],
  ['a first install', ['1.0.0']],
] as const)('F42 %s', (_what, versions) => {
  const before = versions.length === 1 ? 'Failed' : 'RolledBack'

  test('one kill starts the whole settle window again', async () => {
    const { node, clock, end, state } = await settling(versions)
    await end(killed)
    expect([state(), node.processes.reading('beacon'), node.worker.record?.message]).toEqual([
      'Probing',
      'Running',
      'ended by SIGKILL in its settle window; started again, the next end counts',
    ])
    // The rest of the first window is not enough.
    await clock.advance(SETTLE_MS - 1_000)
    expect(state()).toBe('Probing')
    await clock.advance(2_000)
    expect([state(), node.worker.record?.message]).toEqual(['Healthy', undefined])
  })

  test.each([
    ['a kill and a kill', killed, killed],
    ['a kill and a crash', killed, crashed],
    ['an end that was not observed and a kill', unseen, killed],
  ])('%s: the second counts', async (_name, first, second) => {
    const { node, end, state } = await settling(versions)
    await end(first)
    await end(second)
    expect([state(), node.worker.record?.message]).toEqual([
      before,
      `${second.how} in its second settle window; in the first it ${first.how}`,
    ])
  })

  test('a crash of its own counts at once', async () => {
    const { node, end, state } = await settling(versions)
    await end(crashed)
    expect([state(), node.worker.record?.message]).toEqual([before, 'exited with code 1 in its settle window'])
  })

  test('a version that was stopped by a signal gets the same chance', async () => {
    const { processes, clock, state } = await settling(versions)
    processes.change('beacon', 'Frozen', { how: 'was stopped by a signal', isEvidence: false })
    await clock.advance(2 * SETTLE_MS)
    expect(state()).toBe('Healthy')
  })

  test('the agent is killed as well: the component is started again, and an agent after it knows that the next end counts', async () => {
    const { node, disk, processes, clock, end } = await settling(versions)
    await node.worker.close()
    processes.change('beacon', 'Crashed', unseen)
    const next = new FakeNode({ publisher, releases, clock, disk, processes })
    await next.start()
    await clock.advance(1_000)
    expect([next.worker.record?.state, processes.reading('beacon')]).toEqual(['Probing', 'Running'])
    await next.worker.close()
    const third = new FakeNode({ publisher, releases, clock, disk, processes })
    await third.start()
    await end(killed)
    expect(third.worker.record?.state).toBe(before)
  })
})

test('a version that cannot be started again goes back', async () => {
  const { processes, end, node } = await settling(['1.0.0', '1.1.0'])
  processes.refuses = ({ slot }) => (slot === node.worker.record?.open?.to.id ? 'no such user' : undefined)
  await end(killed)
  expect([node.worker.record?.state, node.worker.record?.message]).toEqual(['RolledBack', 'no such user'])
})
