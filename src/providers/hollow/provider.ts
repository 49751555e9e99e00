// Simulated hosts for scale tests: each is one small file, and one process runs all their agents. The agents' process finds hosts in the folder, so neither
// side needs the other to be up. The files are authoritative; the one leading provider reads them into memory once.
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { type Clock, timestamp } from '#lib/clock.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import type { Logger } from '#lib/log.ts'
import { HostEvents } from '../host-events.ts'
import { badName, machineIn, takenName } from '../machine-name.ts'
import {
  type CreateResult,
  type DeleteResult,
  type Host,
  type HostEvent,
  type HostList,
  type HostRequest,
  LOCAL_CAPABILITIES,
  type Ordered,
  type Provider,
} from '../port.ts'
import { findAgent, startAgent } from '../process/agent-process.ts'
import { endAll } from '../process/end.ts'
import { type Crashes, needOf } from '../process/keeper.ts'
import { type NodeLayout, nodeLayout } from '../process/layout.ts'
import { isAlive, type ProcessId } from '../process/proc.ts'
import { writeWhole } from '../process/record.ts'
import { type HollowHost, hostFile, hostsFolder, machineOfFile, readHost, rebootFile, rebootsFolder } from './hosts.ts'
import { parseParams } from './params.ts'

export interface HollowProviderOptions {
  /** Contains the hosts and their process's log. */
  readonly dir: string
  /** Runs the agents of all hosts in the folder. It needs an identity that may write for all of them: never use it on a cluster with real nodes. */
  readonly agents: (dir: string) => readonly [file: string, ...args: string[]]
  readonly clock: Clock
  readonly log: Logger
  readonly newBootId?: () => string
}

const HOLLOW_SCHEME = 'hollow://'
const POLL_MS = 500

/** The agents' process runs here and logs here. */
export const agentsLayout = (dir: string): NodeLayout => nodeLayout(dir, 'agents')

export async function createHollowProvider(options: HollowProviderOptions): Promise<Provider> {
  for (const folder of [hostsFolder, rebootsFolder]) await mkdir(folder(options.dir), { recursive: true, mode: 0o700 })
  const dir = await realpath(options.dir)
  const layout = agentsLayout(dir)
  for (const folder of [layout.root, layout.logs]) await mkdir(folder, { recursive: true, mode: 0o700 })
  const names = (await readdir(hostsFolder(dir))).flatMap((file) => machineOfFile(file) ?? [])
  const hosts = await Promise.all(names.map((machine) => readHost(dir, machine)))
  return new HollowProvider(
    { ...options, dir },
    hosts.flatMap((h) => h ?? []),
  )
}

class HollowProvider implements Provider {
  readonly name = 'hollow'
  readonly capabilities = LOCAL_CAPABILITIES
  readonly #options: HollowProviderOptions
  readonly #hosts: Map<string, HollowHost>
  readonly #events = new HostEvents(HOLLOW_SCHEME)
  readonly #locks = new KeyedLock({ what: 'calls about one machine' })
  #agents: ProcessId | undefined
  #hasSearched = false
  #crashes: Crashes = { inARow: 0 }

  constructor(options: HollowProviderOptions, hosts: readonly HollowHost[]) {
    this.#options = options
    this.#hosts = new Map(hosts.map((h) => [h.machine, h]))
  }

  async create({ machine, machineUid, clientToken, params }: HostRequest): Promise<CreateResult> {
    const bad = badName(machine)
    if (bad !== undefined) return bad
    const parsed = parseParams(params)
    if (parsed.kind === 'Refused') return parsed
    return this.#locks.run(machine, async (): Promise<CreateResult> => {
      const known = this.#hosts.get(machine)
      const taken = takenName(known, machineUid, HOLLOW_SCHEME + machine)
      if (taken !== undefined) return taken
      if (known !== undefined) return { kind: 'Host', host: hostOf(known) }
      const createdAt = timestamp(this.#options.clock.now())
      const host = await this.#write({ clientToken, machineUid, machine, createdAt, bootId: this.#newBootId(), params })
      this.#events.emit(machine, 'Started', 'Started')
      return { kind: 'Host', host: hostOf(host) }
    })
  }

  get(providerID: string): Promise<Host | undefined> {
    const host = this.#hosts.get(machineOf(providerID))
    return Promise.resolve(host && hostOf(host))
  }

  list(): Promise<HostList> {
    const asOf = timestamp(this.#options.clock.now())
    return Promise.resolve({ hosts: [...this.#hosts.values()].map(hostOf), asOf })
  }

  delete(providerID: string): Promise<DeleteResult> {
    const machine = machineOf(providerID)
    return this.#locks.run(machine, async (): Promise<DeleteResult> => {
      if (!this.#hosts.has(machine)) return 'Gone'
      await rm(hostFile(this.#options.dir, machine), { force: true })
      this.#hosts.delete(machine)
      this.#events.emit(machine, 'Deleted', 'Deleted')
      return 'Deleted'
    })
  }

  reboot(providerID: string): Promise<Ordered> {
    const machine = machineOf(providerID)
    return this.#locks.run(machine, async (): Promise<Ordered> => {
      const host = this.#hosts.get(machine)
      if (host === undefined) return 'Gone'
      await this.#write({ ...host, bootId: this.#newBootId() })
      this.#events.emit(machine, 'Rebooted', 'Rebooted')
      return 'Ordered'
    })
  }

  events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    return this.#events.listen(onEvent, signal)
  }

  /** Keeps the agents' process alive while there are hosts; like other agents, it outlives this process. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      await this.#keep().catch((error: unknown) =>
        log.warn('cannot reconcile hollow agents', { error: messageOf(error) }),
      )
      await clock.sleep(POLL_MS, signal).catch(() => undefined)
    }
  }

  async #keep(): Promise<void> {
    const { dir, agents, clock } = this.#options
    for (const machine of (await readdir(rebootsFolder(dir))).flatMap((file) => machineOfFile(file) ?? [])) {
      await rm(rebootFile(dir, machine), { force: true })
      await this.reboot(HOLLOW_SCHEME + machine)
    }
    const layout = agentsLayout(dir)
    const command = () => agents(dir)
    // Search for a predecessor's process only once, before a start: that reads all processes of the machine.
    if (!this.#hasSearched) this.#agents = await findAgent(layout, command, undefined)
    this.#hasSearched = true
    const isAgentAlive = this.#agents !== undefined && (await isAlive(this.#agents))
    if (this.#hosts.size === 0) {
      if (isAgentAlive) await endAll(layout, this.#agents?.pid, clock)
      return
    }
    const seen = { state: 'Running', isAgentAlive, rebootRequested: false } as const
    const need = needOf({ ...seen, crashes: this.#crashes }, clock.monotonic())
    switch (need.kind) {
      case 'Start':
        this.#crashes = need.crashes
        this.#agents = (await findAgent(layout, command, this.#agents)) ?? (await startAgent(layout, command))
        return
      case 'Nothing':
      // Only for providers that can power a host off.
      case 'FinishStop':
      case 'Wait':
      case 'Reboot':
      case 'FinishDelete':
        return
      default:
        assertNever(need)
    }
  }

  async #write(host: HollowHost): Promise<HollowHost> {
    await writeWhole(hostFile(this.#options.dir, host.machine), `${JSON.stringify(host)}\n`)
    this.#hosts.set(host.machine, host)
    return host
  }

  #newBootId(): string {
    return this.#options.newBootId?.() ?? randomUUID()
  }
}

const machineOf = (providerID: string): string => machineIn(HOLLOW_SCHEME, providerID) ?? ''

const hostOf = ({ machine, machineUid, clientToken, createdAt, bootId }: HollowHost): Host => ({
  providerID: HOLLOW_SCHEME + machine,
  clientToken,
  machine,
  machineUid,
  state: 'Running',
  address: '127.0.0.1',
  bootID: bootId,
  createdAt,
})
