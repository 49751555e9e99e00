// What a switch does in addition where its version takes effect with a reboot: it arms a kernel, records the reboot before it is requested, and recognizes
// the boot after it. What happens next is decided in reboot.ts.
import { defined } from '#lib/defined.ts'
import type { Clock } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import type { Logger } from '#lib/log.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { KernelSwitch } from '../os/kernel-switch.ts'
import type { OsPort } from '../os/port.ts'
import type { Cause } from './cause.ts'
import type { SlotOf } from './effect.ts'
import type { Journal } from './journal.ts'
import { type RebootPort, isRebootFor, isRebooted } from './reboot.ts'
import type { OpenSwitch, PendingReboot, SharedWith } from './record.ts'

export interface RebootSwitchDeps {
  readonly log: Logger
  /** Absent where machines do not reboot. */
  readonly reboots?: RebootPort
  /** Absent where the node has no boot loader. */
  readonly os?: OsPort
  readonly clock: Pick<Clock, 'now'>
}

/** Stop: install the files but start nothing, because the machine reboots next. */
export type Then = 'Start' | 'Stop'

export class RebootSwitch {
  readonly #deps: RebootSwitchDeps
  readonly #component: string
  readonly #journal: Journal
  readonly #kernel: KernelSwitch

  constructor(deps: RebootSwitchDeps, component: string, journal: Journal) {
    this.#deps = deps
    this.#component = component
    this.#journal = journal
    this.#kernel = new KernelSwitch(deps.os, deps.log)
  }

  /** Start: start in the current boot. Stop: the machine reboots first. Wait: the machine has not rebooted yet. */
  async beforeUse(version: SlotOf, open: OpenSwitch): Promise<Then | 'Wait'> {
    const { reboots } = this.#deps
    const { reboot, to, from, permit, phase } = open
    const { spec } = version
    // Without a way to reboot, for example when an agent on another host finds this journal, this is a normal switch.
    if (reboots === undefined) return 'Start'
    if (reboot === undefined) {
      if (phase !== 'Switching' || spec.disruption !== 'Reboot') return 'Start'
      if (!this.#kernel.isOf(spec)) return isRebootFor(to, from, permit) ? 'Stop' : 'Start'
      // A new machine boots its kernel before it takes pods, without a permit.
      if (to.digest !== from?.digest && (await this.#kernel.mismatch(version)) !== undefined) return 'Stop'
      // The power was cut after it was armed, and it runs.
      if (open.entry !== undefined) await this.#noteBoot(spec, { ...open, reboot: { from: '', since: 0, upMs: 0 } })
      return 'Start'
    }
    const { id: boot } = await reboots.boot()
    if (reboot.from === boot) return 'Wait'
    // Recorded before the start, so that a version that crashes the machine is counted.
    if (reboot.boot !== boot) await this.#noteBoot(spec, { ...open, reboot })
    await this.#kernel.demandBooted(version)
    return 'Start'
  }

  /** The files are in place, and nothing runs. */
  async awaitReboot(version: SlotOf, open: OpenSwitch): Promise<void> {
    const entry = await this.#kernel.entryBefore(version.spec)
    const armed = { ...open, ...defined({ entry }) }
    if (entry !== undefined) await this.#journal.write({ open: armed })
    // Before the reboot is recorded: a power cut from there on must boot it too.
    await this.#kernel.arm(version)
    await this.#journal.write({ open: { ...armed, reboot: await this.#pendingReboot() } })
  }

  /** Power cuts from there on find them together. */
  async share(others: readonly SharedWith[]): Promise<void> {
    const { open, message } = this.#journal.record ?? {}
    if (open?.reboot === undefined) return
    await this.#journal.write({ open: { ...open, reboot: { ...open.reboot, with: others } }, message })
  }

  /** The caller has read the permit as Granted in this pass. */
  async request(): Promise<void> {
    const { open, message, reason, output } = this.#journal.record ?? {}
    const { reboots, clock } = this.#deps
    if (open === undefined || reboots === undefined) return
    // On the way back, the message stays the cause of the revert.
    if (open.phase !== 'GoingBack') {
      const reboot = open.reboot && { ...open.reboot, requestedAt: clock.now() }
      await this.#journal.write({ open: { ...open, ...defined({ reboot }) }, message: 'rebooting' })
    } else await this.#journal.write({ message, reason, output })
    await reboots.request({ component: this.#component })
  }

  /** `spec`: undefined where the slot is damaged. */
  confirm(spec: MachineComponentSpec | undefined, { entry }: OpenSwitch): Promise<void> {
    return this.#kernel.confirm(spec, entry)
  }

  giveUp(failed: MachineComponentSpec | undefined, { entry }: OpenSwitch): Promise<void> {
    return this.#kernel.giveUp(failed, entry)
  }

  /** The machine has rebooted into the failed version, and not yet out of it. A boot loader that gave the new kernel up has booted the one before. */
  async needsRebootBack({ back, reboot, to }: OpenSwitch, failed: MachineComponentSpec | undefined): Promise<boolean> {
    if (back !== undefined || !isRebooted(reboot, await this.#deps.reboots?.boot())) return false
    if (failed === undefined) return true
    const mismatch = await this.#kernel.mismatch({ id: to.id, spec: failed })
    // Where what runs is unknown, the machine has rebooted for the failed version, and one reboot more boots the one before.
    return mismatch?.booted !== 'Other'
  }

  /** The old version is in place, and nothing runs. */
  async awaitRebootBack(open: OpenSwitch, { because: reason, message, output }: Cause): Promise<void> {
    const back = await this.#pendingReboot()
    await this.#journal.write({ open: { ...open, phase: 'GoingBack', back }, message, reason, output })
  }

  /** The switch is over in the boot in which it waits for a reboot. */
  async withdraw({ back, reboot }: OpenSwitch): Promise<void> {
    const { reboots } = this.#deps
    const awaited = back ?? reboot
    if (awaited !== undefined && awaited.from === (await reboots?.boot())?.id) await reboots?.withdraw(this.#component)
  }

  /** Only kernels have an entry before; the slot of this one may be damaged. */
  isKernel({ entry }: OpenSwitch, spec: MachineComponentSpec | undefined): boolean {
    return entry !== undefined || this.#kernel.isOf(spec)
  }

  tidy(kept: () => Promise<readonly SlotOf[]>): Promise<void> {
    return this.#kernel.tidy(kept)
  }

  async #noteBoot(spec: MachineComponentSpec, open: OpenSwitch & Required<Pick<OpenSwitch, 'reboot'>>): Promise<void> {
    const { reboots, clock } = this.#deps
    const { reboot } = open
    const isAgain = reboot.boot !== undefined && { isSecondBoot: true }
    const now = { boot: (await reboots?.boot())?.id ?? '', settlesBy: clock.now() + longestSettleMs(spec), ...isAgain }
    await this.#journal.write({ open: { ...open, reboot: { ...reboot, ...now } } })
  }

  async #pendingReboot(): Promise<PendingReboot> {
    const boot = await this.#deps.reboots?.boot()
    return { from: boot?.id ?? '', since: this.#deps.clock.now(), upMs: boot?.upMs ?? 0 }
  }
}

const longestSettleMs = ({ probes = [] }: MachineComponentSpec): number =>
  Math.max(0, ...probes.map(({ settle }) => parseDuration(settle)))
