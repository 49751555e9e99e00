// What this host boots: whole images where bootc keeps them, and kernels from packages elsewhere. Asked once: it is the same until the next boot.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { BootedImages } from './bootc.ts'
import { OSTREE, RAUC } from './boot-loader.ts'
import { OperatingSystem, type OsDeps } from './os.ts'
import type { Mismatch, OsPort, OsVersion } from './port.ts'

export interface HostOsDeps extends OsDeps {
  /** As components name it. */
  readonly arch: string
}

export class HostOs implements OsPort {
  readonly #deps: HostOsDeps
  #port: OsPort | undefined

  constructor(deps: HostOsDeps) {
    this.#deps = deps
  }

  async refusal(spec: MachineComponentSpec): Promise<string | undefined> {
    if (spec.os?.images === undefined) return (await this.#own()).refusal(spec)
    const { paths } = await this.#deps.host.read()
    if (paths.has(OSTREE)) return (await this.#own()).refusal(spec)
    const rauc = RAUC.find((path) => paths.has(path))
    return rauc === undefined
      ? `this host does not boot images: ${OSTREE} is not there, and A/B images of systemd-sysupdate or others are not known here`
      : `this host boots A/B images of RAUC (${rauc}), which are not known here; bootc is`
  }

  async stage(version: OsVersion): Promise<void> {
    return (await this.#own()).stage(version)
  }

  async byDefault(): Promise<string | undefined> {
    return (await this.#own()).byDefault()
  }

  async arm(version: OsVersion): Promise<void> {
    return (await this.#own()).arm(version)
  }

  async putOnTrial(version: OsVersion): Promise<void> {
    return (await this.#own()).putOnTrial(version)
  }

  async disarm(before: string | undefined, failed?: MachineComponentSpec): Promise<void> {
    return (await this.#own()).disarm(before, failed)
  }

  async confirm(): Promise<void> {
    return (await this.#own()).confirm()
  }

  async mismatch(version: OsVersion): Promise<Mismatch | undefined> {
    return (await this.#own()).mismatch(version)
  }

  async tidy(kept: readonly OsVersion[]): Promise<void> {
    return (await this.#own()).tidy(kept)
  }

  async #own(): Promise<OsPort> {
    if (this.#port !== undefined) return this.#port
    const { paths } = await this.#deps.host.read()
    this.#port = paths.has(OSTREE) ? new BootedImages(this.#deps) : new OperatingSystem(this.#deps)
    return this.#port
  }
}
