// A kernel as a component: booted once, kept only when it is healthy, and given up by the boot loader alone when it does not come up. A machine here is a
// disk that stays, and a sequence of boots, each from what GRUB finds on that disk.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { BootedMachine } from '#test/doubles/node/booted-machine.ts'
import { FakeBootMachine, debianEntry, packageOf } from '#test/doubles/node/fake-boot-machine.ts'
import { FakeNode, type FakeNodeOptions, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { writeDurably } from '../files/durable.ts'
import type { ProbeAnswer } from '../components/probe.ts'
import { slotFolder } from '../node-dir.ts'

const publisher = newPublisher()
const HOST = '6.1.0-20-amd64'
const kernelOf = (version: string): string => `6.1.0-${version}-amd64`
const PROBES = [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }]

function kernel(
  version: string,
  os: Readonly<Record<string, unknown>> = {},
  name = packageOf(kernelOf(version)),
  component = 'kernel',
) {
  const file = `pool/linux-image-${version}.deb`
  return release(publisher, {
    component,
    version,
    entries: [{ name: file, content: `${name} 1`, mode: 0o644 }],
    spec: {
      type: 'OS',
      install: undefined,
      disruption: 'Reboot',
      probes: PROBES,
      os: { kernel: kernelOf(version), packages: [file], ...os },
    },
  })
}
const [HUGE, PLAIN] = ['28-huge', '28-plain']
const releases = [
  ...['25', '28', '30'].map((v) => kernel(v)),
  kernel(HUGE, { kernel: kernelOf('28'), bootArguments: ['hugepages=4', 'panic=5'] }, packageOf(kernelOf('28'))),
  kernel(PLAIN, { kernel: kernelOf('28') }, packageOf(kernelOf('28'))),
  kernel('broken'),
  kernel('rescue', { bootArguments: ['systemd.unit=rescue.target'] }),
  kernel('20', {}, packageOf(HOST)),
  kernel('image', {
    packages: undefined,
    images: [{ arch: 'amd64', image: `r.example.com/os@sha256:${'a'.repeat(64)}` }],
  }),
  kernel('20-2', { kernel: HOST }, `${packageOf(HOST)} 2 `),
]
const order = (version: string, attempt: number): TestOrder => ({ version, attempt, switch: { attempt, permit: 'p' } })

class Machine extends BootedMachine<FakeBootMachine> {
  constructor(host: FakeBootMachine) {
    super(host, 'kernel', { publisher, releases })
  }

  static async new(disk = new MemoryFiles()): Promise<Machine> {
    return new Machine(await FakeBootMachine.with(disk, HOST))
  }
}

async function with28(): Promise<Machine> {
  const machine = await Machine.new()
  await machine.run({ version: '28', attempt: 1 })
  expect(machine.record?.state).toBe('Healthy')
  machine.reboots = 0
  return machine
}

test('a new machine boots its kernel before it takes pods, once and without a permit', async () => {
  const machine = await Machine.new()
  await machine.run({ version: '28', attempt: 1 })
  const k = kernelOf('28')
  expect([machine.reboots, machine.node.permitsRead]).toEqual([1, []])
  expect(await machine.state()).toEqual([k, 'Healthy', '28', k, k])
  expect(machine.host.running.arguments).toEqual(expect.arrayContaining(['root=UUID=a1', 'panic=30']))
})

test('a node that takes pods reboots under a permit alone', async () => {
  const machine = await Machine.new()
  machine.options = { pending: () => false }
  await machine.run({ version: '28', attempt: 1 })
  expect([machine.record?.state, machine.reboots, machine.host.running.kernel]).toEqual(['Staged', 0, HOST])
  await machine.run(order('28', 1))
  expect([machine.record?.state, machine.reboots, machine.host.running.kernel]).toEqual(['Healthy', 1, kernelOf('28')])
})

test('a kernel that runs already is kept without a reboot', async () => {
  const machine = await Machine.new()
  await machine.run({ version: '20', attempt: 1 })
  expect([machine.record?.state, machine.reboots]).toEqual(['Healthy', 0])
  expect((await machine.host.environment())['saved_entry']).toBe(debianEntry(HOST))
})

test('what is staged does not change what boots, although the menu has a newer kernel first', async () => {
  const machine = await Machine.new()
  machine.options = { pending: () => false }
  await machine.run({ version: '28', attempt: 1 })
  expect(await machine.host.kernels()).toEqual([HOST, kernelOf('28')])
  await machine.boot()
  expect(machine.host.running.kernel).toBe(HOST)
})

test('an upgrade takes one reboot, and keeps the kernel before', async () => {
  const machine = await with28()
  await machine.run(order('30', 2))
  const k = kernelOf('30')
  expect(machine.reboots).toBe(1)
  expect(await machine.host.kernels()).toEqual([HOST, kernelOf('28'), k])
  expect(await machine.state()).toEqual([k, 'Healthy', '30', k, k])
})

test('older own kernels than the one before are removed, those of the host never', async () => {
  const machine = await with28()
  await machine.run(order('30', 2))
  await machine.run(order('25', 3))
  expect(await machine.host.kernels()).toEqual([HOST, kernelOf('30'), kernelOf('25')])
  expect(await machine.host.ownEntries()).toHaveLength(2)
})

test('a kernel that panics is followed by the one before, without a second reboot, and is removed', async () => {
  const machine = await with28()
  machine.host.panics.add(kernelOf('30'))
  await machine.run(order('30', 2))
  const k = kernelOf('28')
  expect([machine.reboots, machine.host.booted.slice(-2)]).toEqual([1, [kernelOf('30'), k]])
  expect(machine.record).toMatchObject({ reason: 'InstallFailed', pins: [{ version: '30' }] })
  expect(machine.record?.message).toMatch(
    /^KN8098: cannot keep kernel 30: the machine returned from its reboot, and Linux 6\.1\.0-28-amd64 runs, not 6\.1\.0-30-amd64;/,
  )
  expect(await machine.host.kernels()).toEqual([HOST, k])
  expect(await machine.state()).toEqual([k, 'RolledBack', '28', k, k])
})

test('a first kernel that panics leaves the machine to the kernel of its host', async () => {
  const machine = await Machine.new()
  machine.host.panics.add(kernelOf('28'))
  await machine.run({ version: '28', attempt: 1 })
  expect(await machine.state()).toEqual([HOST, 'RolledBack', undefined, HOST, HOST])
})

test('a kernel that fails its probes is rebooted away under the same permit', async () => {
  const machine = await with28()
  machine.probe = (k) => (k === kernelOf('30') ? { kind: 'Fail', message: 'no network' } : { kind: 'Pass' })
  await machine.run(order('30', 2))
  const k = kernelOf('28')
  expect([machine.reboots, machine.record?.reason]).toEqual([2, 'ProbeFailed'])
  expect(await machine.state()).toEqual([k, 'RolledBack', '28', k, k])
})

const failing30 = (k: string): ProbeAnswer =>
  k === kernelOf('30') ? { kind: 'Fail', message: 'no network' } : { kind: 'Pass' }
const grantedTimes = (times: number): Required<FakeNodeOptions>['permit'] => {
  let reads = 0
  return (permit) =>
    reads++ < times ? { kind: 'Granted', permit, forReboot: true } : { kind: 'NotGranted', permit, why: 'Expired' }
}

test('a kernel that failed and still runs does not become the default when the next one is staged', async () => {
  const machine = await with28()
  machine.probe = failing30
  machine.options = { permit: grantedTimes(2), pending: () => false }
  await machine.run(order('30', 2))
  expect([machine.reboots, machine.host.running.kernel]).toEqual([1, kernelOf('30')])
  expect(machine.record?.message).toMatch(/a reboot is pending: waiting to reboot: permit p: Expired$/)
  const before = await machine.host.environment()
  await machine.run({ version: '25', attempt: 3 })
  expect([machine.record?.state, await machine.host.environment()]).toEqual(['Staged', before])
  await machine.boot()
  expect(machine.host.running.kernel).toBe(kernelOf('28'))
})

test('a kernel without a network waits for its permit, and is then rebooted away without reading it', async () => {
  const machine = await with28()
  machine.probe = failing30
  machine.isApiAway = (k) => k === kernelOf('30')
  await machine.run(order('30', 2), 500_000)
  expect([machine.reboots, machine.record?.open?.phase, machine.node.worker.waiting]).toEqual([
    1,
    'GoingBack',
    'waiting to reboot: permit p: the API server is unavailable',
  ])
  await machine.run(order('30', 2), 200_000)
  const k = kernelOf('28')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'RolledBack', '28', k, k, 2])
})

test('a kernel whose slot is damaged is disarmed', async () => {
  const machine = await with28()
  machine.options = { permit: grantedTimes(1) }
  await machine.run(order('30', 2), 1_000)
  expect(await machine.host.environment()).toHaveProperty('next_entry')
  const { to } = machine.record?.open ?? {}
  await machine.disk.remove(join(slotFolder(machine.node.dir, 'kernel', to?.id ?? ''), 'slot.json'))
  await machine.run(order('30', 2), 620_000)
  const k = kernelOf('28')
  expect(await machine.host.environment()).not.toHaveProperty('next_entry')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'RolledBack', '28', k, k, 0])
})

test('a kernel whose slot is damaged in its settle window becomes the default all the same', async () => {
  const machine = await with28()
  machine.probe = (running) => {
    const to = machine.record?.open?.to.id ?? ''
    if (running === kernelOf('30'))
      void machine.disk.remove(join(slotFolder(machine.node.dir, 'kernel', to), 'slot.json'))
    return { kind: 'Pass' }
  }
  await machine.run(order('30', 2))
  const k = kernelOf('30')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'Healthy', '30', k, k, 1])
})

/** Rebooted into its settle window, where the agent restarts and finds a slot that it cannot read. */
async function unreadable(): Promise<{ readonly machine: Machine; readonly mark: string }> {
  const machine = await with28()
  machine.probe = () => ({ kind: 'Unknown', message: 'not yet' }) as unknown as ProbeAnswer
  await machine.run(order('30', 2), 3_000)
  expect(machine.record?.open?.phase).toBe('Probing')
  const mark = join(slotFolder(machine.node.dir, 'kernel', machine.record?.open?.to.id ?? ''), 'slot.json')
  machine.probe = () => ({ kind: 'Pass' })
  return { machine, mark }
}

test('F47 a kernel whose slot cannot be read after a restart of the agent goes back within two minutes, and says why', async () => {
  const { machine, mark } = await unreadable()
  await writeDurably(machine.disk, mark, '{"spec":')
  await machine.run(order('30', 2), 100_000)
  expect([machine.record?.open?.phase, machine.node.worker.waiting]).toEqual([
    'Probing',
    expect.stringMatching(
      /^what was installed of 30 cannot be read on the disk .* within 2m, the version before comes/,
    ),
  ])
  await machine.run(order('30', 2), 200_000)
  expect(machine.record).toMatchObject({
    reason: 'Unreadable',
    message: expect.stringMatching(/^what was .*, for 2m$/),
  })
  const k = kernelOf('28')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'RolledBack', '28', k, k, 2])
})

test('F47 a slot that can be read again within its bound changes nothing', async () => {
  const { machine, mark } = await unreadable()
  const whole = (await machine.disk.read(mark)) ?? ''
  await writeDurably(machine.disk, mark, '{"spec":')
  await machine.run(order('30', 2), 60_000)
  await writeDurably(machine.disk, mark, whole)
  await machine.run(order('30', 2), 200_000)
  const k = kernelOf('30')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'Healthy', '30', k, k, 1])
})

test('a second component that is a kernel is refused, since each would remove the kernel of the other', async () => {
  const machine = await with28()
  const { clock, disk, host } = machine
  const other = kernel('30', {}, packageOf(kernelOf('30')), 'other')
  const node = new FakeNode({ publisher, releases: [other], clock, disk, bootHost: host.host() }, 'other')
  await node.start()
  node.obey({ version: '30', attempt: 1 })
  await clock.advance(1_000)
  expect(node.worker.record?.message).toMatch(/^KN8019: .*one component of type OS, and kernel is installed here/)
  expect(await host.kernels()).toEqual([HOST, kernelOf('28')])
})

test('boot arguments alone are a version, and are gone with the next one', async () => {
  const machine = await with28()
  await machine.run(order(HUGE, 2))
  expect([machine.record?.state, machine.reboots]).toEqual(['Healthy', 1])
  expect(machine.host.running.arguments).toEqual(expect.arrayContaining(['hugepages=4', 'panic=5']))
  expect(machine.host.running.arguments).not.toContain('panic=30')
  await machine.run(order(PLAIN, 3))
  expect([machine.record?.state, machine.reboots]).toEqual(['Healthy', 2])
  expect(machine.host.running.arguments).not.toContain('hugepages=4')
})

test('a machine that runs another kernel than it should is Degraded, with both named', async () => {
  const machine = await with28()
  await machine.host.setEnvironment({ saved_entry: debianEntry(HOST) })
  await machine.boot()
  await machine.run({ version: '28', attempt: 1 })
  expect(machine.record).toMatchObject({ state: 'Degraded', message: `Linux ${HOST} runs, not ${kernelOf('28')}` })
})

test('a permit that ends before the reboot disarms the kernel', async () => {
  const machine = await with28()
  machine.options = { permit: grantedTimes(1) }
  await machine.run(order('30', 2), 1_000)
  expect(await machine.host.environment()).toHaveProperty('next_entry')
  await machine.run(order('30', 2), 620_000)
  const k = kernelOf('28')
  expect([...(await machine.state()), machine.reboots]).toEqual([k, 'RolledBack', '28', k, k, 0])
})

describe('refuses before anything is changed', () => {
  test.each([
    [
      'a boot loader that cannot boot once',
      '28',
      (m: Machine) => m.host.setDefaultOfMenu('0'),
      /^KN8019: .*: this machine cannot boot a kernel once and go back: .*GRUB_DEFAULT=saved/,
    ],
    [
      'packages that do not install',
      'broken',
      async () => undefined,
      /^KN8097: .*Linux 6.1.0-broken-amd64: dependency/,
    ],
    ['a boot argument for a shell', 'rescue', async () => undefined, /^KN8019: .*the boot argument systemd.unit=/],
    [
      'a whole image',
      'image',
      async () => undefined,
      /^KN8019: .*this host does not boot images: \/run\/ostree-booted/,
    ],
    [
      'a whole image, on a host of RAUC',
      'image',
      (m: Machine) => writeDurably(m.disk, '/etc/rauc/system.conf', ''),
      /^KN8019: .*boots A\/B images of RAUC.*not known here/,
    ],
    ['a package in place of the running kernel', '20-2', async () => undefined, /^KN8097: .*it would replace 1,/],
  ] as const)('%s', async (_, version, given, message) => {
    const machine = await Machine.new()
    await given(machine)
    await machine.run({ version, attempt: 1 })
    expect(machine.record).toMatchObject({ state: 'Fetching', message: expect.stringMatching(message) })
    expect([machine.reboots, await machine.host.kernels()]).toEqual([0, [HOST]])
  })

  test('a node without a boot loader of its own', async () => {
    const machine = await Machine.new()
    await machine.start(undefined)
    const node = new FakeNode({ publisher, releases, clock: machine.clock }, 'kernel')
    await node.start()
    node.obey({ version: '28', attempt: 1 })
    await machine.clock.advance(1_000)
    expect(node.worker.record?.message).toMatch(/^KN8019: .*it has no boot loader of its own/)
  })
})

const STORIES = [
  ['an upgrade', '30', () => undefined, ['28', '30']],
  ['a kernel that panics', '30', (m: Machine) => void m.host.panics.add(kernelOf('30')), ['28']],
  [
    'a kernel that fails its probes',
    '30',
    (m: Machine) => {
      m.probe = (k) => (k === kernelOf('30') ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' })
    },
    ['28'],
  ],
] as const

describe.each(STORIES)('%s', (_, version, given, ends) => {
  test.each(['Kill', 'Reordered'] as const)(
    'F29 F30 ends with a kernel that runs, whatever change of the disk the end comes before: %s',
    async (mode: CrashMode) => {
      const first = await with28()
      let crashes = 0
      for (let at = 0; ; at++) {
        const machine = new Machine(await FakeBootMachine.with(new MemoryFiles(), HOST))
        machine.host.disk = first.disk.afterCrash('Kill')
        machine.host.running = first.host.running
        given(machine)
        machine.disk.crashBefore(at)
        await machine.run(order(version, 2))
        const isOver = !machine.disk.isDead
        const left = machine.disk.afterCrash(mode)
        if (mode === 'Kill') {
          await machine.node.worker.close()
          machine.host.disk = left
        } else await machine.boot(left)
        await machine.run(order(version, 2), 12_000)
        const { current, state } = machine.record ?? {}
        expect([at, state]).toEqual([at, expect.stringMatching(/^(Healthy|RolledBack)$/)])
        // A power cut in the settle window counts against a kernel.
        expect(ends).toContain(current?.version)
        if (isOver) expect(current?.version).toBe(ends.at(-1))
        const k = kernelOf(current?.version ?? '')
        expect([at, ...(await machine.state())]).toEqual([at, k, state, current?.version, k, k])
        // Two requests in one boot are one reboot.
        expect(machine.requestedIn.size, `cut off before change ${at}`).toBeLessThanOrEqual(2)
        if (isOver) break
        crashes++
      }
      expect(crashes).toBeGreaterThan(20)
    },
  )
})
