// Power is cut before every single disk change during install, upgrade, revert and uninstall: afterwards the node has the complete old or the complete
// new version, and the next agent finishes the operation.
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses, type FakeNodeOptions, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { ProbeAnswer } from './probe.ts'

const publisher = newPublisher()
const withService = {
  service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
  probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
}
const releases = ['1.0.0', '1.1.0', '1.2.0', '1.3.0'].map((version) =>
  release(publisher, { version, spec: withService }),
)
const failing = (version: string): ProbeAnswer =>
  version === '1.2.0' ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' }

interface Machine {
  readonly clock: VirtualClock
  readonly node: FakeNode
}

function boot(disk: MemoryFiles, processes: FakeProcesses, more: Partial<FakeNodeOptions> = {}): Machine {
  const clock = new VirtualClock()
  const node = new FakeNode({ publisher, releases, clock, disk, processes, probe: failing, ...more })
  return { clock, node }
}

async function run({ clock, node }: Machine, order: TestOrder | undefined): Promise<void> {
  await node.start()
  node.obey(order)
  await clock.advance(6_000)
  await node.worker.close()
}

interface Story {
  readonly name: string
  /** Versions installed before, in order. */
  readonly from: readonly string[]
  readonly order: TestOrder | undefined
  /** Allowed states after the power cut. */
  readonly allowed: readonly (string | undefined)[]
  /** The order for the next agent; absent: the same order. */
  readonly afterwards?: TestOrder
  readonly end: { readonly content: string | undefined; readonly state: string | undefined }
}

const switched = (version: string, attempt = 2): TestOrder => ({
  version,
  attempt,
  switch: { attempt, permit: 'p' },
})

const STORIES: readonly Story[] = [
  {
    name: 'a first install',
    from: [],
    order: { version: '1.0.0', attempt: 1 },
    allowed: [undefined, 'beacon 1.0.0'],
    end: { content: 'beacon 1.0.0', state: 'Healthy' },
  },
  {
    name: 'an upgrade',
    from: ['1.0.0'],
    order: switched('1.1.0'),
    allowed: ['beacon 1.0.0', 'beacon 1.1.0'],
    end: { content: 'beacon 1.1.0', state: 'Healthy' },
  },
  {
    name: 'an upgrade that goes back',
    from: ['1.0.0'],
    order: switched('1.2.0'),
    allowed: ['beacon 1.0.0', 'beacon 1.2.0'],
    end: { content: 'beacon 1.0.0', state: 'RolledBack' },
  },
  {
    name: 'an upgrade that drops the oldest version, and the way back to that one',
    from: ['1.0.0', '1.1.0'],
    order: switched('1.3.0', 3),
    allowed: ['beacon 1.1.0', 'beacon 1.3.0'],
    afterwards: switched('1.0.0', 4),
    end: { content: 'beacon 1.0.0', state: 'Healthy' },
  },
  {
    name: 'an uninstall',
    from: ['1.0.0'],
    order: undefined,
    allowed: ['beacon 1.0.0', undefined],
    end: { content: undefined, state: undefined },
  },
]

/** A disk with these versions installed in order, and the running processes. */
async function prepared(versions: readonly string[]): Promise<{ disk: MemoryFiles; processes: FakeProcesses }> {
  const disk = new MemoryFiles()
  const processes = new FakeProcesses()
  for (const [n, version] of versions.entries())
    await run(boot(disk, processes), n === 0 ? { version, attempt: 1 } : switched(version, n + 1))
  return { disk: disk.afterCrash('Power'), processes }
}

/** After a power cut nothing runs; after only the agent was killed, components keep running. */
function processesAfter(mode: CrashMode, before: FakeProcesses): FakeProcesses {
  const next = new FakeProcesses()
  if (mode === 'Kill')
    for (const [component, request] of before.running) {
      next.running.set(component, request)
      next.readings.set(component, 'Running')
    }
  return next
}

describe.each(STORIES.map((s) => [s.name, s] as const))('%s', (_name, story) => {
  test.each(['Kill', 'Power', 'Reordered'] as const)(
    'F29 F30 survives the end at every change of the disk: %s',
    async (mode) => {
      let crashes = 0
      const before = await prepared(story.from)
      for (let at = 0; ; at++) {
        const disk = before.disk.afterCrash('Kill')
        const processes = processesAfter('Kill', before.processes)
        disk.crashBefore(at)
        await run(boot(disk, processes), story.order)
        const isOver = !disk.isDead
        const after = disk.afterCrash(mode)
        const next = boot(after, processesAfter(mode, processes))
        const found = await next.node.contentInUse()
        expect(story.allowed, `cut off before change ${at}`).toContain(found)
        await run(next, story.afterwards ?? story.order)
        const record = next.node.worker.record
        expect([at, await next.node.contentInUse(), record?.state]).toEqual([at, story.end.content, story.end.state])
        if (story.end.content !== undefined)
          expect([at, next.node.processes.running.get('beacon')?.slot]).toEqual([at, record?.current?.id])
        if (isOver) break
        crashes++
      }
      // Otherwise the loop above would prove nothing.
      expect(crashes).toBeGreaterThan(6)
    },
  )
})

test('a switch that was cut off is finished with the API server away', async () => {
  const { disk, processes } = await prepared(['1.0.0'])
  const first = boot(disk, processes)
  await first.node.start()
  first.node.obey(switched('1.1.0'))
  await first.clock.advance(100)
  expect(first.node.worker.record?.open?.phase).toBe('Probing')
  const after = boot(disk.afterCrash('Kill'), processesAfter('Kill', processes))
  after.node.apiIsAway = true
  await after.node.start()
  await after.clock.advance(60_000)
  expect([await after.node.contentInUse(), after.node.worker.record?.state]).toEqual(['beacon 1.1.0', 'Healthy'])
})

test('a bad version goes back with the API server away', async () => {
  const { disk, processes } = await prepared(['1.0.0'])
  const first = boot(disk, processes)
  await first.node.start()
  first.node.obey(switched('1.2.0'))
  await first.clock.advance(100)
  first.node.apiIsAway = true
  await first.clock.advance(60_000)
  expect([await first.node.contentInUse(), first.node.worker.record?.state]).toEqual(['beacon 1.0.0', 'RolledBack'])
})
