// A machine as a disk that stays, and a sequence of boots: each starts an agent from what the boot loader finds on that disk.
import { isAtRest } from '#agent/components/record.ts'
import type { ProbeAnswer } from '#agent/components/probe.ts'
import type { BootHost } from '#agent/os/boot-host.ts'
import type { Running } from '#agent/os/boot-loader.ts'
import type { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { FakeNode, type FakeNodeOptions, type TestOrder } from './fake-node.ts'

const STEP_MS = 200

export interface BootingHost {
  disk: MemoryFiles
  readonly running: Running
  host(): BootHost
  boot(how?: 'Shutdown' | 'PowerCut'): Promise<void>
}

export class BootedMachine<Host extends BootingHost> {
  readonly clock = new VirtualClock()
  readonly #component: string
  readonly #from: Pick<FakeNodeOptions, 'publisher' | 'releases'>
  boots = 1
  reboots = 0
  readonly requestedIn = new Set<number>()
  options: Partial<FakeNodeOptions> = {}
  /** The kernel that runs has this answer. */
  probe: (kernel: string) => ProbeAnswer = () => ({ kind: 'Pass' })
  /** The kernel that runs reaches no API server. */
  isApiAway: (kernel: string) => boolean = () => false
  node: FakeNode
  readonly host: Host

  constructor(host: Host, component: string, from: Pick<FakeNodeOptions, 'publisher' | 'releases'>) {
    this.host = host
    this.#component = component
    this.#from = from
    this.node = this.#agent()
  }

  get disk(): MemoryFiles {
    return this.host.disk
  }

  #agent(): FakeNode {
    const { clock, disk, boots, host } = this
    const probe = () => this.probe(host.running.kernel)
    const machine = { disk, bootId: `boot-${boots}`, bootHost: host.host() }
    const node = new FakeNode({ ...this.#from, clock, probe, ...machine, ...this.options }, this.#component)
    node.apiIsAway = this.isApiAway(host.running.kernel)
    return node
  }

  async start(to: TestOrder | undefined): Promise<void> {
    this.node = this.#agent()
    await this.node.start()
    this.node.obey(to)
  }

  /** The power goes, or the agent's request is served. */
  async boot(disk = this.disk, how: 'Shutdown' | 'PowerCut' = 'PowerCut'): Promise<void> {
    await this.node.worker.close()
    this.host.disk = disk
    await this.host.boot(how)
    this.boots++
  }

  /** Through every requested reboot, until nothing changes any longer. */
  async run(to: TestOrder, forMs = 10_000): Promise<void> {
    await this.start(to)
    let atRest = 0
    for (let ms = 0; ms < forMs; ms += STEP_MS) {
      await this.clock.advance(STEP_MS)
      if (this.disk.isDead) return
      if (this.node.reboots === 0) {
        atRest = this.record && isAtRest(this.record) && this.record.target.attempt === to.attempt ? atRest + 1 : 0
        if (atRest === 4) break
        continue
      }
      this.reboots++
      this.requestedIn.add(this.boots)
      // The power may go while GRUB writes its block.
      await this.boot(this.disk, 'Shutdown').catch((e: unknown) => {
        if (!this.disk.isDead) throw e
      })
      if (this.disk.isDead) return
      await this.start(to)
    }
    await this.node.worker.close()
  }

  get record() {
    return this.node.worker.record
  }

  /** What runs, what was decided, and what would boot after any number of power cuts. */
  async state(): Promise<readonly unknown[]> {
    const running = this.host.running.kernel
    await this.host.boot()
    const next = this.host.running.kernel
    await this.host.boot()
    return [running, this.record?.state, this.record?.current?.version, next, this.host.running.kernel]
  }
}
