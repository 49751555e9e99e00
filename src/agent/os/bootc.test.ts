// A whole image as a component, on a host of bootc: booted once, kept only when it is healthy, and given up by GRUB alone when it does not come up. A machine
// here is a disk that stays, and a sequence of boots.
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { BootedMachine } from '#test/doubles/node/booted-machine.ts'
import { BOOTC_MENU, FakeBootcMachine, digestOf, imageOf } from '#test/doubles/node/fake-bootc-machine.ts'
import type { FakeNodeOptions, TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { inFull } from '#test/support/tools/full.ts'
import { writeDurably } from '../files/durable.ts'
import type { ProbeAnswer } from '../components/probe.ts'
import { shortDigest } from './bootc-status.ts'

const publisher = newPublisher()
const short = (name: string): string => shortDigest(digestOf(name))
const PROBES = [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }]
const kernelOf = (name: string): string => `6.12.${name.length}-${name}.x86_64`
const NAMES = ['first', 'old', 'new', 'newer'] as const
const IMAGES = NAMES.map((name) => ({ digest: digestOf(name), kernel: kernelOf(name) }))

const image = (version: string, os: Readonly<Record<string, unknown>> = {}) =>
  release(publisher, {
    component: 'host-image',
    version,
    spec: {
      type: 'OS',
      install: undefined,
      artifacts: undefined,
      disruption: 'Reboot',
      probes: PROBES,
      os: { kernel: kernelOf(version), images: [{ arch: 'amd64', image: imageOf(version) }], ...os },
    },
  })
const releases = [
  ...NAMES.map((name) => image(name)),
  image('arm', { images: [{ arch: 'arm64', image: imageOf('old') }] }),
  image('kernel', { images: undefined, bootArguments: ['quiet'] }),
  image('index'),
  image('other-kernel', { kernel: '6.1.0-1', images: [{ arch: 'amd64', image: imageOf('new') }] }),
]
const order = (version: string, attempt: number): TestOrder => ({ version, attempt, switch: { attempt, permit: 'p' } })

class Machine extends BootedMachine<FakeBootcMachine> {
  constructor(host: FakeBootcMachine) {
    super(host, 'host-image', { publisher, releases })
  }

  static async new(disk = new MemoryFiles()): Promise<Machine> {
    return new Machine(await FakeBootcMachine.with(disk, IMAGES))
  }
}

async function withOld(): Promise<Machine> {
  const machine = await Machine.new()
  await machine.run({ version: 'old', attempt: 1 })
  expect(machine.record?.state).toBe('Healthy')
  machine.reboots = 0
  return machine
}

const failing =
  (name: string) =>
  (kernel: string): ProbeAnswer =>
    kernel === kernelOf(name) ? { kind: 'Fail', message: 'no network' } : { kind: 'Pass' }
const grantedTimes = (times: number): Required<FakeNodeOptions>['permit'] => {
  let reads = 0
  return (permit) =>
    reads++ < times ? { kind: 'Granted', permit, forReboot: true } : { kind: 'NotGranted', permit, why: 'Expired' }
}
const [OLD, NEW] = [kernelOf('old'), kernelOf('new')]

test('a new machine boots its image before it takes pods, once and without a permit', async () => {
  const machine = await Machine.new()
  await machine.run({ version: 'old', attempt: 1 })
  expect(machine.reboots).toBe(1)
  expect(await machine.state()).toEqual([OLD, 'Healthy', 'old', OLD, OLD])
})

test('a machine whose image runs already is kept without a reboot', async () => {
  const machine = await Machine.new()
  await machine.run({ version: 'first', attempt: 1 })
  expect([machine.record?.state, machine.reboots, machine.host.commands]).toEqual(['Healthy', 0, []])
})

test('what is staged does not change what boots, whether the machine restarts or loses its power', async () => {
  for (const how of ['Shutdown', 'PowerCut'] as const) {
    const machine = await Machine.new()
    machine.options = { pending: () => false }
    await machine.run({ version: 'old', attempt: 1 })
    expect([machine.record?.state, await machine.host.isStaged()]).toEqual(['Staged', true])
    await machine.boot(machine.disk, how)
    expect(machine.host.running.kernel).toBe(kernelOf('first'))
  }
})

test('an upgrade takes one reboot, keeps the deployment before, and leaves nothing that asks for another', async () => {
  const machine = await withOld()
  await machine.run(order('new', 2))
  expect([machine.reboots, await machine.host.digests()]).toEqual([1, [digestOf('new'), digestOf('old')]])
  expect(await machine.disk.stat('/run/reboot-required')).toBeUndefined()
  expect(await machine.host.environment()).toEqual({ boot_success: '0', kernelopts: 'kept' })
  expect(await machine.state()).toEqual([NEW, 'Healthy', 'new', NEW, NEW])
})

test('an image that panics is followed by the one before, without a second reboot, and is booted once', async () => {
  const machine = await withOld()
  machine.host.panics.add(digestOf('new'))
  await machine.run(order('new', 2))
  expect([machine.reboots, machine.host.bootedDigests.slice(-2)]).toEqual([1, [digestOf('new'), digestOf('old')]])
  expect(machine.record?.message).toMatch(
    /^KN8098: cannot keep host-image new: .*the image sha256:\w+ runs, not sha256:/,
  )
  expect(await machine.state()).toEqual([OLD, 'RolledBack', 'old', OLD, OLD])
})

test('an image that fails its probes is rebooted away under the same permit', async () => {
  const machine = await withOld()
  machine.probe = failing('new')
  await machine.run(order('new', 2))
  expect([machine.reboots, machine.record?.reason]).toEqual([2, 'ProbeFailed'])
  expect(await machine.state()).toEqual([OLD, 'RolledBack', 'old', OLD, OLD])
})

test('a power cut in the settle window boots the one before, also where another judge has found the boot good', async () => {
  for (const hasOtherJudge of [false, true]) {
    const machine = await withOld()
    machine.host.hasOtherJudge = hasOtherJudge
    machine.probe = () => ({ kind: 'Unknown', message: 'not yet' }) as unknown as ProbeAnswer
    await machine.run(order('new', 2), 3_000)
    expect([machine.record?.open?.phase, machine.host.running.kernel]).toEqual(['Probing', NEW])
    await machine.boot()
    expect(machine.host.running.kernel).toBe(OLD)
  }
})

test('an image without a network is rebooted away without an answer, as a kernel is', async () => {
  const machine = await withOld()
  machine.probe = failing('new')
  machine.isApiAway = (k) => k === NEW
  await machine.run(order('new', 2), 700_000)
  expect([...(await machine.state()), machine.reboots]).toEqual([OLD, 'RolledBack', 'old', OLD, OLD, 2])
})

test('a permit that ends before the reboot disarms the image, and a later restart boots what ran', async () => {
  const machine = await withOld()
  machine.options = { permit: grantedTimes(1) }
  await machine.run(order('new', 2), 1_000)
  expect((await machine.host.environment())['boot_counter']).toBe('1')
  await machine.run(order('new', 2), 620_000)
  await machine.boot(machine.disk, 'Shutdown')
  expect(await machine.host.environment()).not.toHaveProperty('boot_counter')
  expect([...(await machine.state()), machine.reboots]).toEqual([OLD, 'RolledBack', 'old', OLD, OLD, 0])
})

test('an image whose status can no longer be read in the new boot is rebooted away', async () => {
  const machine = await withOld()
  machine.host.answer = (text) => (machine.host.running.kernel === NEW ? 'Segmentation fault' : text)
  await machine.run(order('new', 2))
  expect(machine.record?.message).toMatch(
    /^KN8098: .*it is unknown which image runs: the answer of bootc status is not/,
  )
  expect([...(await machine.state()), machine.reboots]).toEqual([OLD, 'RolledBack', 'old', OLD, OLD, 2])
})

test('an image with another kernel than it names goes back', async () => {
  const machine = await withOld()
  await machine.run(order('other-kernel', 2))
  expect(machine.record?.message).toMatch(/^KN8098: .*Linux \S+ runs in this image, not 6\.1\.0-1;/)
  expect(await machine.state()).toEqual([OLD, 'RolledBack', 'old', OLD, OLD])
})

test('a machine that runs another image than it should is Degraded, with both named', async () => {
  const machine = await withOld()
  await machine.host.host().change(['/usr/bin/bootc', 'rollback'])
  await machine.boot()
  await machine.run({ version: 'old', attempt: 1 })
  expect(machine.record).toMatchObject({
    state: 'Degraded',
    message: `the image ${short('first')} runs, not ${short('old')}`,
  })
})

test('what runs is unknown, not wrong, where bootc does not answer', async () => {
  const machine = await withOld()
  machine.host.answer = () => undefined
  await machine.run({ version: 'old', attempt: 1 })
  expect([machine.record?.state, machine.reboots]).toEqual(['Healthy', 0])
})

const altered =
  (change: (status: Record<string, unknown>) => unknown) =>
  (text: string): string => {
    const host = JSON.parse(text) as { status: Record<string, unknown> }
    return JSON.stringify({ ...host, status: change(host.status) })
  }
const entry = (status: Record<string, unknown>, slot: string): Record<string, unknown> =>
  status[slot] as Record<string, unknown>

describe('refuses before anything is changed', () => {
  const menu = (text: string) => (m: Machine) => writeDurably(m.disk, '/boot/grub2/grub.cfg', text)
  const answers = (change: (status: Record<string, unknown>) => unknown) => async (m: Machine) => {
    m.host.answer = altered(change)
  }
  test.each<[string, string, (m: Machine) => Promise<unknown>, RegExp]>([
    ['a host without boot counting', 'old', menu('load_env\nblscfg\n'), /does not count boots, as greenboot makes it/],
    ['a menu that is not of OSTree alone', 'old', menu(BOOTC_MENU.replace('blscfg\n', '')), /does not count boots/],
    [
      'an entry of others in the menu',
      'old',
      (m) => writeDurably(m.disk, '/boot/loader/entries/rescue.conf', 'title r'),
      /rescue\.conf is not an entry of OSTree/,
    ],
    ['no environment block', 'old', (m) => m.disk.remove('/boot/grub2/grubenv'), /grubenv is missing/],
    ['OSTree without bootc', 'old', (m) => m.disk.remove('/usr/bin/bootc'), /OSTree without bootc is not known/],
    ['an image for another architecture', 'arm', async () => undefined, /names none for amd64/],
    ['a kernel from packages', 'kernel', async () => undefined, /this host boots whole images/],
    [
      'an updater that reboots by itself',
      'old',
      async (m) => {
        m.host.updater = 'active'
      },
      /bootc-fetch-apply-updates\.timer is active/,
    ],
    [
      'an image that a person has staged',
      'old',
      async (m) => m.host.host().change(['/usr/bin/bootc', 'switch', imageOf('newer')]),
      /another image is staged and boots next/,
    ],
    ['no answer', 'old', async (m) => void (m.host.answer = () => undefined), /bootc status does not answer/],
    ['an answer that is no JSON', 'old', async (m) => void (m.host.answer = () => '{"status":'), /is not a BootcHost/],
    [
      'an answer of another version',
      'old',
      async (m) => void (m.host.answer = (t) => t.replace('bootc/v1', 'bootc/v9')),
      /is not a BootcHost/,
    ],
    [
      'a host that was not booted from an image',
      'old',
      answers((s) => ({ ...s, type: null })),
      /this host was not booted from an image/,
    ],
    ['a writable /usr', 'old', answers((s) => ({ ...s, usrOverlay: { accessMode: 'readWrite' } })), /usr-overlay/],
    [
      'an order that is not said',
      'old',
      answers((s) => ({ ...s, rollbackQueued: undefined })),
      /lacks what boots next/,
    ],
    [
      'layered packages',
      'old',
      answers((s) => ({ ...s, booted: { ...entry(s, 'booted'), incompatible: true } })),
      /has local changes \(rpm-ostree\)/,
    ],
    [
      'other storage',
      'old',
      answers((s) => ({ ...s, booted: { ...entry(s, 'booted'), ostree: null, composefs: { verity: 'x' } } })),
      /composefs.*is not known/,
    ],
    [
      'a digest that is none',
      'old',
      answers((s) => ({ ...s, booted: { ...entry(s, 'booted'), image: { imageDigest: 'sha256:1; reboot' } } })),
      /was not made from an image/,
    ],
  ])('%s', async (_, version, given, message) => {
    const machine = await Machine.new()
    await given(machine)
    const before = machine.host.commands.length
    await machine.run({ version, attempt: 1 })
    expect(machine.record).toMatchObject({ state: 'Fetching', message: expect.stringMatching(message) })
    expect([machine.reboots, machine.host.commands.length]).toEqual([0, before])
  })

  test('the digest of an index, whose image is locked so that no restart boots it', async () => {
    const machine = await withOld()
    machine.host.indexes.set(digestOf('index'), digestOf('newer'))
    await machine.run(order('index', 2))
    expect(machine.record?.message).toMatch(/^KN8097: .*name the digest of the image for one architecture/)
    await machine.boot(machine.disk, 'Shutdown')
    expect(machine.host.running.kernel).toBe(OLD)
  })
})

const STORIES = [
  ['an upgrade', () => undefined, ['old', 'new']],
  ['an image that panics', (m: Machine) => void m.host.panics.add(digestOf('new')), ['old']],
  [
    'an image that fails its probes, with another judge that finds each boot good',
    (m: Machine) => {
      m.host.hasOtherJudge = true
      m.probe = failing('new')
    },
    ['old'],
  ],
] as const

/** Changes of the disk from one end to the next; every single one in the full run. */
const EVERY = inFull(1, 2)

describe.each(STORIES)('%s', (_, given, ends) => {
  test.each(['Kill', 'Reordered'] as const)(
    'F29 F30 ends with an image that runs, whatever change of the disk the end comes before: %s',
    async (mode: CrashMode) => {
      const first = await withOld()
      let crashes = 0
      // Each way of ending begins elsewhere, so that together they meet every change.
      for (let at = mode === 'Kill' ? 0 : Math.floor(EVERY / 2); ; at += EVERY) {
        const machine = await Machine.new()
        machine.host.disk = first.disk.afterCrash('Kill')
        machine.host.booted = first.host.booted
        machine.host.running = first.host.running
        given(machine)
        machine.disk.crashBefore(at)
        await machine.run(order('new', 2))
        const isOver = !machine.disk.isDead
        const left = machine.disk.afterCrash(mode)
        if (mode === 'Kill') {
          await machine.node.worker.close()
          machine.host.disk = left
        } else await machine.boot(left)
        await machine.run(order('new', 2), 12_000)
        const { current, state } = machine.record ?? {}
        expect([at, state]).toEqual([at, expect.stringMatching(/^(Healthy|RolledBack)$/)])
        expect(ends).toContain(current?.version)
        if (isOver) expect(current?.version).toBe(ends.at(-1))
        const k = kernelOf(current?.version ?? '')
        expect([at, ...(await machine.state())]).toEqual([at, k, state, current?.version, k, k])
        // Two requests in one boot are one reboot.
        expect(machine.requestedIn.size, `cut off before change ${at}`).toBeLessThanOrEqual(2)
        if (isOver) break
        crashes++
      }
      expect(crashes).toBeGreaterThan(20 / EVERY)
    },
  )
})
