// What a switch does for a component of type OS in addition, and nothing for the others. Nodes that only imitate reboots imitate kernels too.
import { KubeNodeError, isKubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { agentErrors } from '../agent-errors.ts'
import type { Mismatch, OsPort } from './port.ts'

interface Version {
  readonly id: string
  readonly spec: MachineComponentSpec
}

export class KernelSwitch {
  readonly #os: OsPort | undefined
  readonly #log: Logger

  constructor(os: OsPort | undefined, log: Logger) {
    this.#os = os
    this.#log = log
  }

  isOf(spec: MachineComponentSpec | undefined): boolean {
    return this.#for(spec) !== undefined
  }

  async mismatch({ id, spec }: Version): Promise<Mismatch | undefined> {
    return this.#for(spec)?.mismatch({ slot: id, spec })
  }

  /** What boots by default, to which `giveUp` goes back. */
  async entryBefore(spec: MachineComponentSpec): Promise<string | undefined> {
    return this.#for(spec)?.byDefault()
  }

  async arm({ id, spec }: Version): Promise<void> {
    await this.#for(spec)?.arm({ slot: id, spec })
  }

  /** After the reboot. A boot loader that gave the kernel up has booted the one before. */
  async demandBooted(version: Version): Promise<void> {
    const mismatch = await this.mismatch(version)
    const { id, spec } = version
    if (mismatch === undefined) return this.#for(spec)?.putOnTrial({ slot: id, spec })
    throw new KubeNodeError(
      agentErrors.KN8098({ component: spec.component, version: spec.version, what: mismatch.what }),
    )
  }

  async confirm(spec: MachineComponentSpec | undefined, before: string | undefined): Promise<void> {
    await this.#evenDamaged(spec, before)?.confirm()
  }

  /** A boot loader that is no longer known must not keep the switch open. Its default was never changed, or the kernel was healthy once. */
  async giveUp(spec: MachineComponentSpec | undefined, before: string | undefined): Promise<void> {
    try {
      await this.#evenDamaged(spec, before)?.disarm(before, spec)
    } catch (error) {
      if (!isKubeNodeError(error)) throw error
      this.#log.warn('cannot disarm the kernel', { error: messageOf(error) })
    }
  }

  /** `kept`: asked only where there is a boot loader. Tried again with the next switch. */
  async tidy(kept: () => Promise<readonly Version[]>): Promise<void> {
    if (this.#os === undefined) return
    const own = (await kept()).filter(({ spec }) => this.isOf(spec)).map(({ id, spec }) => ({ slot: id, spec }))
    if (own.length === 0) return
    await this.#os.tidy(own).catch((error: unknown) => {
      this.#log.warn('cannot remove old kernels', { error: messageOf(error) })
    })
  }

  /** Only kernels have an entry before; the slot of this one may be damaged. */
  #evenDamaged(spec: MachineComponentSpec | undefined, before: string | undefined): OsPort | undefined {
    return before === undefined ? this.#for(spec) : this.#os
  }

  #for(spec: MachineComponentSpec | undefined): OsPort | undefined {
    return spec?.type === 'OS' ? this.#os : undefined
  }
}
