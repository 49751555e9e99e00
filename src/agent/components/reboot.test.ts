// A version with `disruption: Reboot`: the machine reboots once for it and at most once back, under a permit that names it and was just read, whatever
// fails in between. A machine here is a disk that stays, and a sequence of boots.
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { FakeNode, FakeProcesses, type FakeNodeOptions, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { RETURNS_WITHIN_MS } from '#api/protocol/rebooting.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { inFull } from '#test/support/tools/full.ts'
import type { PermitReading } from './permit-reading.ts'
import type { ProbeAnswer } from './probe.ts'
import { REBOOT_WITHIN_MS } from './reboot.ts'

const publisher = newPublisher()
const spec = {
  disruption: 'Reboot',
  service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
  probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }],
}
const BAD = '1.2.0'
const releases = ['1.0.0', '1.1.0', BAD].map((version) => release(publisher, { version, spec }))
const probe = (version: string): ProbeAnswer => (version === BAD ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' })
const FIRST: TestOrder = { version: '1.0.0', attempt: 1 }
const switched = (version: string): TestOrder => ({ version, attempt: 2, switch: { attempt: 2, permit: 'p' } })
const NOT: PermitReading = { kind: 'NotGranted', permit: 'p', why: 'phase Expired' }

class Machine {
  readonly clock = new VirtualClock()
  disk = new MemoryFiles()
  processes = new FakeProcesses()
  boots = 1
  /** The version in place at each reboot that an agent requested. */
  readonly requested: (string | undefined)[] = []
  readonly requestedIn = new Set<number>()
  options: Partial<FakeNodeOptions> = {}
  isApiAway = false
  node: FakeNode = this.#agent()

  #agent(): FakeNode {
    const { clock, disk, processes, boots } = this
    const bootId = `boot-${boots}`
    const node = new FakeNode({ publisher, releases, clock, disk, processes, probe, bootId, ...this.options })
    node.apiIsAway = this.isApiAway
    return node
  }

  async start(order: TestOrder | 'Unread' | undefined): Promise<void> {
    this.node = this.#agent()
    await this.node.start()
    if (order !== 'Unread') this.node.obey(order)
  }

  /** Agent: only the agent restarts. Machine: a power cut ends everything. */
  async end(how: 'Agent' | 'Machine'): Promise<void> {
    await this.node.worker.close()
    if (how === 'Agent') return
    this.processes = new FakeProcesses()
    this.boots++
  }

  /** Runs for this time, through every requested reboot. */
  async run(order: TestOrder | undefined, forMs = 8_000): Promise<void> {
    await this.start(order)
    for (let ms = 0; ms < forMs; ms += 50) {
      await this.clock.advance(50)
      if (this.disk.isDead) return
      if (this.node.reboots === 0) continue
      this.requested.push(await this.node.contentInUse())
      this.requestedIn.add(this.boots)
      expect(this.processes.running.size).toBe(0)
      await this.end('Machine')
      await this.start(order)
    }
    await this.node.worker.close()
  }

  async state(): Promise<readonly unknown[]> {
    return [await this.node.contentInUse(), this.node.worker.record?.state]
  }
}

async function withFirst(options: Partial<FakeNodeOptions> = {}): Promise<Machine> {
  const machine = new Machine()
  await machine.run(FIRST)
  expect([...(await machine.state()), machine.boots]).toEqual(['beacon 1.0.0', 'Healthy', 1])
  machine.options = options
  return machine
}

test('a first install on a node that takes no pods yet does not reboot it', async () => {
  expect((await withFirst()).requested).toEqual([])
})

test('the machine reboots once, with the new files in place and nothing running', async () => {
  const machine = await withFirst()
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.1.0', 'Healthy', ['beacon 1.1.0']])
  expect(machine.processes.running.get('beacon')?.slot).toBe(machine.node.worker.record?.current?.id)
})

test('a permit that does not name Reboot switches nothing', async () => {
  const machine = await withFirst({ permit: (permit) => ({ kind: 'Granted', permit }) })
  await machine.run(switched('1.1.0'), 1_000)
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.0.0', 'Staged', []])
  expect(machine.node.worker.waiting).toBe('permit p: not for operation Reboot')
})

test('a node that cannot reboot says so, and nothing is switched', async () => {
  const machine = await withFirst({ cannotReboot: 'this node is a folder' })
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.node.worker.waiting]).toEqual([
    'beacon 1.0.0',
    'Staged',
    'this version needs a reboot, which this node cannot do: this node is a folder',
  ])
})

test('a permit that ends after the switch reboots nothing: the component waits, says why, and goes back', async () => {
  let reads = 0
  const permit = (name: string): PermitReading =>
    reads++ === 0 ? { kind: 'Granted', permit: name, forReboot: true } : NOT
  const machine = await withFirst({ permit })
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(REBOOT_WITHIN_MS - 10_000)
  expect([machine.node.worker.record?.state, machine.node.worker.waiting]).toEqual([
    'Switching',
    'waiting to reboot: permit p: phase Expired',
  ])
  await machine.clock.advance(20_000)
  expect([...(await machine.state()), machine.node.reboots]).toEqual(['beacon 1.0.0', 'RolledBack', 0])
  expect(machine.node.worker.record?.message).toBe('the machine did not reboot within 10m')
  expect([machine.processes.reading('beacon'), machine.node.withdrawn]).toEqual(['Running', 1])
})

test('an agent that comes up in the same boot requests the reboot again, under a permit that it reads again', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  expect(machine.node.reboots).toBe(1)
  await machine.end('Agent')
  machine.options = { permit: () => NOT }
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  expect([machine.node.reboots, machine.node.permitsRead.length]).toEqual([0, 1])
  await machine.end('Agent')
  machine.options = {}
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.boots]).toEqual(['beacon 1.1.0', 'Healthy', 2])
})

test('a bad version goes back: the old one is in place before the second reboot', async () => {
  const machine = await withFirst()
  await machine.run(switched(BAD))
  expect([...(await machine.state()), machine.requested]).toEqual([
    'beacon 1.0.0',
    'RolledBack',
    [`beacon ${BAD}`, 'beacon 1.0.0'],
  ])
  expect(machine.node.worker.record).toMatchObject({ reason: 'ProbeFailed', pins: [{ version: BAD }] })
})

test('a machine that returns long after the request, as after the provider cut its power, goes back', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  expect(machine.node.reboots).toBe(1)
  await machine.end('Machine')
  await machine.clock.advance(RETURNS_WITHIN_MS + 60_000)
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.0.0', 'RolledBack', ['beacon 1.0.0']])
  expect(machine.node.worker.record).toMatchObject({
    reason: 'InstallFailed',
    message: expect.stringMatching(/^the machine took 16m\d+s to return from its reboot \(limit 15m\)$/),
    pins: [{ version: '1.1.0' }],
  })
})

test('an agent that starts long after the boot keeps the new version', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  await machine.end('Machine')
  machine.options = { bootedAt: machine.clock.now() + 60_000 }
  await machine.clock.advance(RETURNS_WITHIN_MS + 600_000)
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.1.0', 'Healthy', []])
})

test('a machine that hung once the version ran goes back, although it would now come up', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  await machine.end('Machine')
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(500)
  expect(machine.node.worker.record?.state).toBe('Probing')
  await machine.end('Machine')
  await machine.clock.advance(RETURNS_WITHIN_MS + 60_000)
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.0.0', 'RolledBack', ['beacon 1.0.0']])
  expect(machine.node.worker.record).toMatchObject({
    reason: 'CrashLooping',
    message: expect.stringMatching(
      /^the machine stopped in the settle window and booted 15m5\d+s after its end \(limit 15m\)$/,
    ),
  })
})

test('a machine that boots for fourteen minutes keeps the new version', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  await machine.end('Machine')
  await machine.clock.advance(14 * 60_000)
  await machine.run(switched('1.1.0'))
  expect([...(await machine.state()), machine.requested]).toEqual(['beacon 1.1.0', 'Healthy', []])
})

test('without a granted permit the old version runs in this boot, and the message says that a reboot is pending', async () => {
  const machine = await withFirst()
  await machine.start(switched(BAD))
  await machine.clock.advance(1_000)
  await machine.end('Machine')
  machine.isApiAway = true
  await machine.start('Unread')
  await machine.clock.advance(8_000)
  expect([...(await machine.state()), machine.node.reboots]).toEqual(['beacon 1.0.0', 'RolledBack', 0])
  expect(machine.node.worker.record?.message).toMatch(/a reboot is pending: waiting to reboot: permit p: the API/)
  expect(machine.processes.running.get('beacon')?.slot).toBe(machine.node.worker.record?.current?.id)
})

test('a good version is committed after the reboot with the API server away', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  await machine.end('Machine')
  machine.isApiAway = true
  await machine.start('Unread')
  await machine.clock.advance(8_000)
  expect(await machine.state()).toEqual(['beacon 1.1.0', 'Healthy'])
})

test('a machine that reboots by itself again and again goes back: one reboot is requested forward and one back', async () => {
  const machine = await withFirst()
  let requests = 0
  for (let boot = 0; boot < 10; boot++) {
    await machine.start(switched('1.1.0'))
    // Shorter than the settle window.
    await machine.clock.advance(500)
    requests += machine.node.reboots
    await machine.end('Machine')
  }
  expect(requests).toBe(2)
  await machine.run(switched('1.1.0'))
  expect(await machine.state()).toEqual(['beacon 1.0.0', 'RolledBack'])
  expect(machine.node.worker.record?.message).toBe('the machine rebooted twice in the settle window')
})

test('one more boot, as after a loss of power, is not held against the version', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  for (let boot = 0; boot < 2; boot++) {
    await machine.end('Machine')
    await machine.start(switched('1.1.0'))
    await machine.clock.advance(500)
  }
  await machine.clock.advance(8_000)
  expect(await machine.state()).toEqual(['beacon 1.1.0', 'Healthy'])
})

test('a fresh copy of the version in use, and a repair that installs it again, reboot nothing', async () => {
  const machine = await withFirst()
  await machine.start({ version: '1.0.0', attempt: 1 })
  const done = machine.node.worker.ask('Reinstall')
  await machine.clock.advance(8_000)
  expect((await done).kind).toBe('Done')
  machine.node.worker.setDrift('a file differs')
  machine.node.obey({ version: '1.0.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
  await machine.clock.advance(8_000)
  expect([machine.node.worker.record?.current?.id.endsWith('-2'), machine.node.reboots]).toEqual([true, 0])
})

test('an agent from before there were reboots starts the version that is in place, without one', async () => {
  const machine = await withFirst()
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(1_000)
  await machine.end('Agent')
  machine.options = { hasNoReboots: true }
  await machine.start(switched('1.1.0'))
  await machine.clock.advance(8_000)
  expect(await machine.state()).toEqual(['beacon 1.1.0', 'Healthy'])
})

test('a reboot for one component is one for all that wait for it, and a switch of another goes on after it', async () => {
  const clock = new VirtualClock()
  const disk = new MemoryFiles()
  const names = ['beacon', 'scribe', 'lamp'] as const
  const all = names.flatMap((component) =>
    ['1.0.0', '1.1.0'].map((version) => {
      const { disruption: _, ...others } = spec
      const path = `/opt/${component}`
      const service = { ...spec.service, exec: `${path}/bin/beacon` }
      const own = { install: { unpack: { path, strip: 0 } }, service }
      return release(publisher, { component, version, spec: { ...(component === 'lamp' ? others : spec), ...own } })
    }),
  )
  const boot = async (bootId: string, version: string) => {
    const processes = new FakeProcesses()
    const options = { publisher, releases: all, clock, disk, processes, bootId }
    const nodes = names.map((component) => new FakeNode(options, component))
    for (const node of nodes) {
      await node.start()
      node.obey(version === '1.0.0' ? FIRST : switched(version))
    }
    return nodes
  }
  const end = (nodes: readonly FakeNode[]) => Promise.all(nodes.map((n) => n.worker.close()))
  const first = await boot('boot-1', '1.0.0')
  await clock.advance(8_000)
  await end(first)
  const before = await boot('boot-1', '1.1.0')
  for (let i = 0; i < 40 && before[2]?.worker.record?.state !== 'Probing'; i++) await clock.advance(50)
  // The first request ends the agent with all of its workers.
  expect(before.map((n) => n.worker.record?.state)).toEqual(['Switching', 'Switching', 'Probing'])
  await end(before)
  const after = await boot('boot-2', '1.1.0')
  await clock.advance(8_000)
  expect(after.map((n) => [n.worker.record?.state, n.worker.record?.current?.version, n.reboots])).toEqual(
    names.map(() => ['Healthy', '1.1.0', 0]),
  )
})

const STORIES = [
  ['an upgrade', '1.1.0', 'beacon 1.1.0', 'Healthy'],
  ['an upgrade that goes back', BAD, 'beacon 1.0.0', 'RolledBack'],
] as const

/** Changes of the disk from one end to the next; every single one in the full run. */
const EVERY = inFull(1, 3)
const MODES = ['Kill', 'Power', 'Reordered'] as const

describe.each(STORIES)('%s with reboots', (_, version, content, state) => {
  test.each(MODES)('F29 F30 survives the end at every change of the disk: %s', async (mode: CrashMode) => {
    const first = await withFirst()
    let crashes = 0
    // Each way of ending begins elsewhere, so that together they meet every change.
    for (let at = MODES.indexOf(mode) % EVERY; ; at += EVERY) {
      const machine = new Machine()
      machine.disk = first.disk.afterCrash('Kill')
      machine.processes = first.processes
      machine.disk.crashBefore(at)
      await machine.run(switched(version))
      const isOver = !machine.disk.isDead
      await machine.end(mode === 'Kill' ? 'Agent' : 'Machine')
      machine.disk = machine.disk.afterCrash(mode)
      await machine.run(switched(version))
      expect([at, ...(await machine.state())]).toEqual([at, content, state])
      expect([at, machine.processes.running.get('beacon')?.slot]).toEqual([at, machine.node.worker.record?.current?.id])
      // Two requests in one boot are one reboot. A power cut may replace one.
      expect(machine.requestedIn.size, `cut off before change ${at}`).toBeLessThanOrEqual(version === BAD ? 2 : 1)
      if (isOver) break
      crashes++
    }
    expect(crashes).toBeGreaterThan(6 / EVERY)
  })
})
