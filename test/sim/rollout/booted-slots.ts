// Machines of a simulation that boot whole images: the agents' real port to bootc, over a machine whose deployments and GRUB are files in memory. And what must
// hold of it.
import { type ComponentRecord, isAtRest } from '#agent/components/record.ts'
import { BootedImages } from '#agent/os/bootc.ts'
import type { OsPort } from '#agent/os/port.ts'
import { messageOf } from '#lib/errors.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { FakeBootcMachine, digestOf, imageOf as referenceOf } from '#test/doubles/node/fake-bootc-machine.ts'
import { type BootLoaders, kernelOf, keptBy } from './kernels.ts'

const ARCH = 'amd64'

export const imageOf = (version: string) => ({
  kernel: kernelOf(version),
  images: [{ arch: ARCH, image: referenceOf(version) }],
})

export interface BootedSlotsOptions {
  readonly component: string
  /** The version that all machines run at the beginning. */
  readonly first: string
  readonly versions: readonly string[]
  /** A planted bug: an image is the default before it was healthy. */
  readonly armsForGood?: boolean | undefined
}

interface Slots {
  readonly machine: FakeBootcMachine
  /** An agent does not outlive its boot. */
  port: OsPort
}

interface Seat {
  slots: Promise<Slots>
  boot: number
  /** As the last call left it. */
  shown: Shown | undefined
}

/** By digest. */
interface Shown {
  readonly running: string
  /** After a power cut. */
  readonly next: string
  readonly isCounting: boolean
}

export class BootedSlots implements BootLoaders {
  readonly #o: BootedSlotsOptions
  readonly #seats = new Map<string, Seat>()
  #wrong: string | undefined

  constructor(o: BootedSlotsOptions) {
    this.#o = o
  }

  #of(machine: string): Seat {
    const seat = this.#seats.get(machine) ?? { slots: this.#made(), boot: 0, shown: undefined }
    this.#seats.set(machine, seat)
    return seat
  }

  async #made(): Promise<Slots> {
    const images = [this.#o.first, ...this.#o.versions].map((v) => ({ digest: digestOf(v), kernel: kernelOf(v) }))
    const machine = await FakeBootcMachine.with(new MemoryFiles(), images)
    return { machine, port: portOf(machine) }
  }

  /** One after the other. */
  async #run<T>(machine: string, what: (slots: Slots) => Promise<T>): Promise<T> {
    const seat = this.#of(machine)
    const result = seat.slots.then(async (slots) => {
      try {
        return await what(slots)
      } finally {
        seat.shown = await shownBy(slots.machine)
      }
    })
    seat.slots = Promise.all([seat.slots, result.catch(() => undefined)]).then(([slots]) => slots)
    return result
  }

  boot(machine: string, how: 'Shutdown' | 'PowerCut', panics: boolean): void {
    this.#of(machine).boot++
    void this.#run(machine, async (slots) => {
      const { machine: host } = slots
      // What was never counted is the only one that the machine could go back to.
      const [first = ''] = await host.digests()
      const staged = how === 'Shutdown' ? await host.atShutdown() : first
      if (panics && staged !== first) host.panics.add(staged)
      await host.boot(how).catch((e: unknown) => (this.#wrong ??= `${machine}: ${messageOf(e)}`))
      host.panics.clear()
      slots.port = portOf(host)
    })
  }

  port(machine: string): OsPort {
    const { boot } = this.#of(machine)
    const call = <T>(what: (port: OsPort) => Promise<T>): Promise<T> =>
      this.#run(machine, ({ port }) => {
        if (this.#of(machine).boot !== boot) throw new Error('this agent ended with its boot')
        return what(port)
      })
    return {
      refusal: (spec) => call((p) => p.refusal(spec)),
      stage: (version) => call((p) => p.stage(version)),
      byDefault: () => call((p) => p.byDefault()),
      arm: (version) => this.#arm(machine, () => call((p) => p.arm(version))),
      putOnTrial: (version) => call((p) => p.putOnTrial(version)),
      disarm: (before, failed) => call((p) => p.disarm(before, failed)),
      confirm: () => call((p) => p.confirm()),
      mismatch: (version) => call((p) => p.mismatch(version)),
      tidy: (kept) => call((p) => p.tidy(kept)),
    }
  }

  async #arm(machine: string, arm: () => Promise<void>): Promise<void> {
    await arm()
    if (this.#o.armsForGood === true) await this.#run(machine, ({ machine: host }) => host.setEnvironment({}))
  }

  /** What boots after a power cut is what the agent keeps, at any moment. */
  problem(records: ReadonlyMap<string, readonly ComponentRecord[]>): string | undefined {
    for (const [machine, all] of records) {
      const record = all.find((r) => r.component === this.#o.component)
      const { shown } = this.#of(machine)
      if (record === undefined || shown === undefined) continue
      const { state } = record
      const [kept, next] = keptBy(record, this.#o.first).map(digestOf)
      const name = (digest: string) => Buffer.from(digest.slice(7), 'hex').toString().replaceAll('\0', '')
      if (shown.next !== kept && shown.next !== next)
        return `${machine}: ${name(shown.next)} boots after a power cut, and ${name(kept ?? '')} is kept (${state})`
      if (isAtRest(record) && shown.isCounting) return `${machine}: GRUB counts boots (${state})`
      if (state === 'Healthy' && shown.running !== kept)
        return `${machine}: ${name(shown.running)} runs, not ${name(kept ?? '')}`
    }
    return this.#wrong
  }
}

const portOf = (machine: FakeBootcMachine): OsPort => new BootedImages({ host: machine.host(), arch: ARCH })

async function shownBy(machine: FakeBootcMachine): Promise<Shown> {
  const { boot_counter: counter, boot_success: success } = await machine.environment()
  return {
    running: machine.booted.digest,
    next: await machine.afterPowerCut(),
    isCounting: counter !== undefined && success === '0',
  }
}
