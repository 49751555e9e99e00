// A kernel and a driver for it: one reboot for both, and both stay or both go back, wherever the machine or its agent ends in between. A machine here is a
// disk that stays, and a sequence of boots.
import { describe, expect, test } from 'vitest'
import { MemoryFiles, type CrashMode } from '#test/doubles/files/memory-files.ts'
import { FakeBootMachine, packageOf } from '#test/doubles/node/fake-boot-machine.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { inFull } from '#test/support/tools/full.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { isAtRest } from './record.ts'
import { MATES_WITHIN_MS } from './shared-reboot.ts'

const publisher = newPublisher()
const HOST = '6.1.0-20-amd64'
const kernelOf = (version: string): string => `6.1.0-${version}-amd64`
const STEP_MS = 200
/** Changes of the disk from one end to the next; every single one in the full run. */
const EVERY = inFull(1, 7)
const probes = [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '2s' }]

const kernel = (version: string) => {
  const file = `pool/linux-image-${version}.deb`
  const os = { kernel: kernelOf(version), packages: [file] }
  const entries = [{ name: file, content: `${packageOf(kernelOf(version))} 1`, mode: 0o644 }]
  const spec = { type: 'OS', install: undefined, disruption: 'Reboot', probes, os }
  return release(publisher, { component: 'kernel', version, entries, spec })
}
const driver = (version: string) => {
  const service = { exec: '/opt/driver/bin/beacon', restart: 'Always', killMode: 'Process' }
  return release(publisher, { component: 'driver', version, spec: { disruption: 'Reboot', service, probes } })
}
const releases = [kernel('28'), kernel('30'), driver('28'), driver('30')]
const NAMES = ['kernel', 'driver'] as const
type Name = (typeof NAMES)[number]
const first: TestOrder = { version: '28', attempt: 1 }
const next: TestOrder = { version: '30', attempt: 2, switch: { attempt: 2, permit: 'p' } }

class Machine {
  readonly clock = new VirtualClock()
  readonly host: FakeBootMachine
  processes = new FakeProcesses()
  boots = 1
  readonly requestedIn = new Set<number>()
  /** Whose probes fail with the new versions. */
  bad: Name | undefined
  nodes: readonly FakeNode[] = []
  /** The machine went down before they knew of each other. */
  isApart = false

  constructor(host: FakeBootMachine) {
    this.host = host
  }

  get disk(): MemoryFiles {
    return this.host.disk
  }

  async start(order: TestOrder): Promise<void> {
    const { clock, disk, boots, host, processes } = this
    const nodes: readonly FakeNode[] = NAMES.map((name) => {
      const isNew = () => host.running.kernel === kernelOf('30')
      const probe = () =>
        this.bad === name && isNew() ? { kind: 'Fail' as const, message: 'no' } : { kind: 'Pass' as const }
      const own = name === 'kernel' ? { bootHost: host.host() } : { processes }
      const others = () => nodes.filter((node) => node.worker.component !== name)
      return new FakeNode({ publisher, releases, clock, disk, probe, bootId: `boot-${boots}`, others, ...own }, name)
    })
    this.nodes = nodes
    for (const node of nodes) await node.load()
    this.isApart ||= this.records.some((r) => r?.open !== undefined && r.open.reboot?.with === undefined)
    const { switch: _, ...staged } = order
    for (const node of nodes) node.obey(staged)
    this.order(order)
  }

  /** As the machine controller does: all at once, when all are staged. */
  order(order: TestOrder): void {
    const isStaged = this.records.every((r) => r?.target.attempt === order.attempt && r.state !== 'Fetching')
    if (isStaged) for (const node of this.nodes) node.obey(order)
  }

  close = () => Promise.all(this.nodes.map((node) => node.worker.close()))

  async boot(disk = this.disk): Promise<void> {
    await this.close()
    this.host.disk = disk
    this.processes = new FakeProcesses()
    await this.host.boot()
    this.boots++
  }

  /** Through every requested reboot, until nothing changes any longer. */
  async run(order: TestOrder, forMs = 20_000): Promise<void> {
    await this.start(order)
    let atRest = 0
    for (let ms = 0; ms < forMs; ms += STEP_MS) {
      await this.clock.advance(STEP_MS)
      if (this.disk.isDead) return
      this.order(order)
      const isOver = this.records.every((r) => r && isAtRest(r) && r.target.attempt === order.attempt)
      if (this.nodes.every((node) => node.reboots === 0)) {
        atRest = isOver ? atRest + 1 : 0
        if (atRest === 4) break
        continue
      }
      this.requestedIn.add(this.boots)
      await this.boot().catch((e: unknown) => {
        if (!this.disk.isDead) throw e
      })
      if (this.disk.isDead) return
      await this.start(order)
    }
    await this.close()
  }

  get records() {
    return this.nodes.map((node) => node.worker.record)
  }

  get state() {
    return [this.host.running.kernel, ...this.records.flatMap((r) => [r?.state, r?.current?.version])]
  }
}

async function withFirst(): Promise<Machine> {
  const machine = new Machine(await FakeBootMachine.with(new MemoryFiles(), HOST))
  await machine.run(first)
  expect(machine.state).toEqual([kernelOf('28'), 'Healthy', '28', 'Healthy', '28'])
  machine.requestedIn.clear()
  return machine
}

const STAYED = [kernelOf('30'), 'Healthy', '30', 'Healthy', '30']
const WENT_BACK = [kernelOf('28'), 'RolledBack', '28', 'RolledBack', '28']

const STORIES = [
  ['both are good', () => undefined, STAYED, 1, undefined],
  ['the driver fails', (m: Machine) => void (m.bad = 'driver'), WENT_BACK, 2, 'kernel'],
  ['the kernel fails', (m: Machine) => void (m.bad = 'kernel'), WENT_BACK, 2, 'driver'],
  // The boot loader went back by itself; the driver needs the second reboot.
  ['the kernel panics', (m: Machine) => void m.host.panics.add(kernelOf('30')), WENT_BACK, 2, 'driver'],
] as const

describe.each(STORIES)('%s', (_, given, end, reboots, innocent) => {
  test('one reboot for both, and at most one back', async () => {
    const machine = await withFirst()
    given(machine)
    await machine.run(next)
    expect(machine.state).toEqual(end)
    expect(machine.requestedIn.size).toBe(reboots)
    const other = machine.records.find((r) => r?.component === innocent)
    if (innocent !== undefined) expect(other?.reason).toBe('RebootShared')
  })

  test.each(['Kill', 'Reordered'] as const)(
    'F29 F30 once they know of each other they end together, whatever change of the disk the end comes before: %s',
    async (mode: CrashMode) => {
      const before = await withFirst()
      let crashes = 0
      for (let at = 0; ; at += EVERY) {
        const machine = new Machine(await FakeBootMachine.with(new MemoryFiles(), HOST))
        machine.host.disk = before.disk.afterCrash('Kill')
        machine.host.running = before.host.running
        given(machine)
        machine.disk.crashBefore(at)
        await machine.run(next)
        const isOver = !machine.disk.isDead
        const left = machine.disk.afterCrash(mode)
        machine.isApart = false
        if (mode === 'Kill') {
          await machine.close()
          machine.host.disk = left
        } else await machine.boot(left)
        await machine.run(next, 30_000)
        if (isOver) expect(machine.state).toEqual(end)
        const [running, ...states] = machine.state
        const [kernel, driver] = [states.slice(0, 2), states.slice(2)]
        const fitting = [STAYED, WENT_BACK].find((s) => s[0] === running) ?? []
        expect([at, ...kernel]).toEqual([at, ...fitting.slice(1, 3)])
        if (mode === 'Kill' || !machine.isApart) expect([at, ...driver]).toEqual([at, ...fitting.slice(3)])
        // Healthy without the new kernel, and bad with it.
        else
          expect([at, driver]).toEqual([
            at,
            expect.toBeOneOf([STAYED.slice(3), WENT_BACK.slice(3), ['Degraded', '30']]),
          ])
        await machine.host.boot()
        expect([at, machine.host.running.kernel]).toEqual([at, running])
        expect(machine.requestedIn.size, `cut off before change ${at}`).toBeLessThanOrEqual(3)
        if (isOver) break
        crashes++
      }
      expect(crashes).toBeGreaterThan(20 / EVERY)
    },
  )
})

test('a component that does not get there delays the others for a bounded time', async () => {
  const machine = await withFirst()
  await machine.start(next)
  machine.processes.stopping = () => machine.clock.sleep(2 * MATES_WITHIN_MS)
  await machine.clock.advance(1_000)
  machine.order(next)
  await machine.clock.advance(5_000)
  const [node] = machine.nodes
  expect([node?.reboots, node?.worker.waiting]).toEqual([0, 'waiting for driver: one reboot for both'])
  await machine.clock.advance(MATES_WITHIN_MS)
  expect(node?.reboots).toBe(1)
})
