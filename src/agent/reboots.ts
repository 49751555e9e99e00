// The only way in which an agent reboots its machine: repairs and components use the same request. Two requests in one boot are one reboot.
import { uptime } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Boot, RebootPort } from './components/reboot.ts'
import { isObject } from '#lib/json.ts'
import { readState, removeDurably, writeDurably } from './files/durable.ts'
import type { Files } from './files/port.ts'
import { bootIdFile, rebootRequestFile, type NodeDir } from './node-dir.ts'
import type { Systemctl } from './supervise/systemd/systemctl.ts'
import { systemUpMs } from './up-time.ts'

export interface RebootsDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly bootId: string
  /** Undefined in a folder, and on a host that systemd does not run. */
  readonly systemctl: Systemctl | undefined
  readonly isHost: boolean
  /** Shuts the agent down cleanly. */
  readonly onReboot: () => void
}

/** `readHostFacts` returns this if the kernel has no boot id: a reboot could not be recognized. */
const UNKNOWN_BOOT = 'unknown'

export class Reboots implements RebootPort {
  readonly #deps: RebootsDeps
  readonly #bootedAt: number
  #isRequested = false
  #refusal: string | undefined

  constructor(deps: RebootsDeps) {
    this.#deps = deps
    // The boot of a folder is the start of its agent.
    this.#bootedAt = deps.clock.now() - (deps.isHost ? (systemUpMs() ?? 0) : 0)
  }

  async boot(): Promise<Boot> {
    const { bootId: id } = this.#deps
    this.#refusal ??= await this.#whyNot()
    const refusal = this.#refusal
    const isRequested = this.#isRequested
    return { id, upMs: uptime() * 1_000, bootedAt: this.#bootedAt, isRequested, ...defined({ refusal }) }
  }

  async #whyNot(): Promise<string | undefined> {
    const { isHost, systemctl, files, dir, bootId } = this.#deps
    if (bootId === UNKNOWN_BOOT) return 'the kernel of this host does not report a boot ID'
    if (isHost) return systemctl === undefined ? 'systemd does not run this host' : undefined
    // A provider that emulates reboots writes a boot id into each of its folders.
    return (await files.read(bootIdFile(dir))) === undefined
      ? 'this node is a folder without a provider that restarts it'
      : undefined
  }

  async request(by: Readonly<Record<string, string>>): Promise<void> {
    const { files, dir, clock, log, bootId, onReboot } = this.#deps
    this.#isRequested = true
    await writeDurably(files, rebootRequestFile(dir), JSON.stringify({ ...by, bootId, at: clock.now() }))
    log.warn('reboot requested', by)
    onReboot()
  }

  /** A provider that missed the request must not serve it after the wait has ended. */
  async withdraw(component: string): Promise<void> {
    const { files, dir } = this.#deps
    const path = rebootRequestFile(dir)
    const request = await readState(files, path, (v) => (isObject(v) ? v : undefined))
    if (request?.['component'] === component) await removeDurably(files, path)
  }

  /** The last action of an agent that stopped its components. A host reboots itself; for a folder, the provider does it. */
  async begin(): Promise<void> {
    const { systemctl, log } = this.#deps
    await systemctl?.run('--no-block', 'reboot').catch((error: unknown) => log.error('cannot reboot', { error }))
  }
}
