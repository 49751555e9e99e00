// Real systemd machines on this host, with real boots, journals, reboots and power-offs. The provider keeps all its state on disk, so it continues after a
// restart. Needs root. The kernel is the host's: run one machine at a time in tests that provoke it.
import { mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { type AgentConfigText, ConfigFiles } from '../config-file.ts'
import { HostEvents } from '../host-events.ts'
import { MachineFolders } from '../machine-folders.ts'
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
import { type ProcessId, isAlive } from '../process/proc.ts'
import { type NodeRecord, readRecord, readText, writeRecord, writeWhole } from '../process/record.ts'
import { AGENT_DIR, type MachineLayout, machineLayout, NSPAWN_SCHEME } from './layout.ts'
import {
  type Mounted,
  bootIdOf,
  cutPower,
  findSupervisor,
  furnish,
  furnishReach,
  leaderOf,
  removeGroups,
  runIn,
  startMachine,
  unmountRoot,
} from './machine.ts'
import { loopbackOf } from './reach.ts'
import { providersErrors } from '../providers-errors.ts'

export interface NspawnProviderOptions {
  /** One subfolder per machine; on a file system that supports overlays, so not on an overlay. */
  readonly dir: string
  /** The tree that all machines share; see `ensureTree`. */
  readonly tree: string
  readonly clock: Clock
  readonly log: Logger
  /** The agent's command inside, and what it needs from this host. Without it machines only boot. */
  readonly agent?: { readonly exec: readonly string[]; readonly readOnly: readonly Mounted[] }
  /** Host: this host's network. Own: a network with only the machine and its API server, which listens on this host's loopback. */
  readonly network?: 'Host' | 'Own'
  /** A folder of this host that machines mount under the same path. */
  readonly share?: string
  /** The desired text of agent.json. */
  readonly agentConfig?: AgentConfigText
  /** Called each time a machine is powered off: a test that makes a process hang inside releases it here, like a power cycle. */
  readonly onPowerOff?: (machine: string) => Promise<void>
}

/** A machine boots in half a second, on a busy host in many. */
const BOOT_WITHIN_MS = 60_000
const POLL_MS = 50
const KEEP_EVERY_MS = 1_000

export interface NspawnProvider extends Provider {
  /** Runs a program inside, for tests and users. */
  exec(providerID: string, argv: readonly string[]): Promise<string>
}

export async function createNspawnProvider(options: NspawnProviderOptions): Promise<NspawnProvider> {
  if (process.getuid?.() !== 0) throw new KubeNodeError(providersErrors.KN11020())
  await mkdir(options.dir, { recursive: true, mode: 0o700 })
  return new Nspawn({ ...options, dir: await realpath(options.dir), tree: await realpath(options.tree) })
}

class Nspawn implements NspawnProvider {
  readonly name = 'nspawn'
  readonly capabilities = LOCAL_CAPABILITIES
  readonly #options: NspawnProviderOptions
  readonly #folders: MachineFolders<MachineLayout>
  readonly #events = new HostEvents(NSPAWN_SCHEME)
  /** Reported boot ids, to detect reboots from inside. */
  readonly #boots = new Map<string, string>()

  readonly #configs: ConfigFiles

  constructor(options: NspawnProviderOptions) {
    this.#options = options
    this.#configs = new ConfigFiles(options.agentConfig)
    this.#folders = new MachineFolders({ scheme: NSPAWN_SCHEME, dir: options.dir, layout: machineLayout })
  }

  async create(request: HostRequest): Promise<CreateResult> {
    const { server } = request.join
    if (this.#options.network === 'Own' && loopbackOf(server) === undefined)
      return {
        kind: 'Refused',
        reason: `a machine with a network of its own cannot reach ${server}: only servers on the loopback of this host`,
      }
    return this.#folders.create(request, async (at, known) => {
      const record = known ?? (await this.#make(at, request))
      await this.#refreshJoin(at, request)
      const isOff = record.state === 'Stopping' || record.state === 'Stopped'
      return this.#host(at, isOff ? record : await this.#ensureUp(at, record, request.params))
    })
  }

  async get(providerID: string): Promise<Host | undefined> {
    const machine = this.#folders.machineOf(providerID)
    if (machine === undefined) return undefined
    const at = this.#folders.at(machine)
    const record = await readRecord(at)
    return record && this.#host(at, record)
  }

  async list(): Promise<HostList> {
    const asOf = timestamp(this.#options.clock.now())
    return { hosts: await this.#folders.hosts((id) => this.get(id)), asOf }
  }

  async delete(providerID: string): Promise<DeleteResult> {
    const machine = this.#folders.machineOf(providerID)
    if (machine === undefined) return 'Gone'
    return this.#folders.inTurn(machine, (at) => this.#remove(at, machine))
  }

  /** A power cycle. The intent is on disk before anything is powered off, so a crash in between ends in one reboot. */
  reboot(providerID: string): Promise<Ordered> {
    return this.#order(providerID, () => 'Rebooting')
  }

  async power(providerID: string, to: 'On' | 'Off'): Promise<Ordered> {
    return this.#order(providerID, (state) => {
      const isOff = state === 'Stopped' || state === 'Stopping'
      if (to === 'On') return isOff ? 'Rebooting' : state
      return isOff ? state : 'Stopping'
    })
  }

  /** Recorded first, then carried out. */
  async #order(providerID: string, next: (state: NodeRecord['state']) => NodeRecord['state']): Promise<Ordered> {
    const machine = this.#folders.machineOf(providerID)
    if (machine === undefined) return 'Gone'
    const ordered = await this.#folders.inTurn(machine, async (at) => {
      const record = await readRecord(at)
      if (record === undefined || record.state === 'Deleting') return 'Gone' as const
      await writeRecord(at, { ...record, state: next(record.state) })
      return 'Ordered' as const
    })
    if (ordered === 'Ordered') void this.#keep(machine)
    return ordered
  }

  async exec(providerID: string, argv: readonly string[]): Promise<string> {
    const machine = this.#folders.machineOf(providerID) ?? ''
    const at = this.#folders.at(machine)
    const supervisor = await findSupervisor(at, undefined)
    const leader = supervisor && (await leaderOf(supervisor))
    if (leader === undefined) throw notUp(at)
    return runIn(leader, argv)
  }

  events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    return this.#events.listen(onEvent, signal)
  }

  /** Finishes operations that a crash interrupted, and reports machines that rebooted by themselves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      try {
        for (const machine of await this.#folders.names()) await this.#keep(machine)
      } catch (error) {
        log.warn('cannot reconcile the machines', { error })
      }
      await clock.sleep(KEEP_EVERY_MS, signal).catch(() => undefined)
    }
  }

  async #keep(machine: string): Promise<void> {
    const work = this.#folders.inTurn(machine, async (at) => {
      const record = await readRecord(at)
      if (record?.state === 'Deleting') return void (await this.#remove(at, machine))
      if (record?.state === 'Rebooting') return this.#restart(at, record)
      if (record?.state === 'Stopping') return this.#stop(at, record)
      if (record?.state === 'Stopped') return
      const boot = record && (await this.#bootOf(at, record))
      if (boot === undefined) return
      // The machine is running, so write through its own root.
      await this.#configs.keep(join(at.root, AGENT_DIR, 'agent.json'))
      const before = this.#boots.get(machine)
      this.#boots.set(machine, boot)
      if (before !== undefined && before !== boot) this.#emit(machine, 'Rebooted', 'the machine rebooted')
    })
    await work.catch((error: unknown) => this.#options.log.warn('cannot reconcile a machine', { machine, error }))
  }

  /** The record comes last: a crash before it leaves a folder that the next create fills again. */
  async #make(
    at: MachineLayout,
    { machine, machineUid, clientToken, params, join: bundle }: HostRequest,
  ): Promise<NodeRecord> {
    for (const folder of [at.dir, at.upper, at.work, at.root, at.containerd, at.kubelet, at.reach])
      await mkdir(folder, { recursive: true, mode: folder === at.dir ? 0o700 : 0o755 })
    await furnish(at, this.#options.agent)
    await this.#configs.keep(join(at.upper, AGENT_DIR, 'agent.json'))
    const reached = this.#options.network === 'Own' ? loopbackOf(bundle.server) : undefined
    if (reached !== undefined) {
      await furnishReach(at, reached)
      await writeWhole(at.reached, reached)
    }
    if (isPrivileged(params)) await writeWhole(join(at.dir, PRIVILEGED), '')
    const record: NodeRecord = {
      clientToken,
      machineUid,
      machine,
      createdAt: timestamp(this.#options.clock.now()),
      state: 'Running',
    }
    return record
  }

  /** Until the agent has joined, or if it should join again, a newer token replaces a possibly expired one. */
  async #refreshJoin(at: MachineLayout, { join: bundle, joinsAgain }: HostRequest): Promise<void> {
    const record = await readRecord(at)
    const supervisor = record && (await findSupervisor(at, record.agent))
    const root = supervisor === undefined ? at.upper : at.root
    const file = join(root, AGENT_DIR, 'join.json')
    const isNew = record === undefined
    if (isNew || joinsAgain === true || (await readText(file)) !== undefined)
      await writeWhole(file, `${JSON.stringify(bundle)}\n`)
  }

  async #ensureUp(at: MachineLayout, record: NodeRecord, params: HostRequest['params']): Promise<NodeRecord> {
    const supervisor = (await findSupervisor(at, record.agent)) ?? (await this.#start(at, isPrivileged(params)))
    const next: NodeRecord = { ...record, agent: supervisor }
    await writeRecord(at, next)
    await this.#booted(at, supervisor, undefined)
    return next
  }

  async #start(at: MachineLayout, privileged: boolean): Promise<ProcessId> {
    const { tree, agent, share } = this.#options
    const shared = share === undefined ? [] : [{ from: share, to: share }]
    const reaches = await readText(at.reached)
    return startMachine(at, {
      tree,
      readOnly: [...(agent?.readOnly ?? []), ...shared],
      isPrivileged: privileged,
      ...defined({ reaches }),
    })
  }

  async #booted(at: MachineLayout, supervisor: ProcessId, before: string | undefined): Promise<void> {
    const { clock } = this.#options
    for (let waited = 0; waited < BOOT_WITHIN_MS; waited += POLL_MS) {
      const leader = await leaderOf(supervisor)
      const boot = leader && (await bootIdOf(leader))
      if (boot !== undefined && boot !== before) return writeWhole(at.bootId, `${boot}\n`)
      if (!(await isAlive(supervisor))) break
      await clock.sleep(POLL_MS)
    }
    throw notUp(at)
  }

  async #restart(at: MachineLayout, record: NodeRecord): Promise<void> {
    const { machine } = record
    await this.#powerOff(at, record)
    const supervisor = await this.#start(at, (await readText(join(at.dir, PRIVILEGED))) !== undefined)
    await writeRecord(at, { ...record, state: 'Running', agent: supervisor })
    await this.#booted(at, supervisor, (await readText(at.bootId))?.trim())
    this.#emit(machine, 'Rebooted', 'the machine was power-cycled')
  }

  async #stop(at: MachineLayout, record: NodeRecord): Promise<void> {
    await this.#powerOff(at, record)
    const { agent: _, ...rest } = record
    await writeRecord(at, { ...rest, state: 'Stopped' })
    this.#emit(record.machine, 'Stopped', 'the machine was switched off')
  }

  async #powerOff(at: MachineLayout, { machine, agent }: NodeRecord): Promise<void> {
    const { clock, onPowerOff } = this.#options
    const supervisor = await findSupervisor(at, agent)
    const end = await cutPower(at, supervisor, clock, async () => onPowerOff?.(machine))
    if (end === 'Left')
      throw new KubeNodeError(providersErrors.KN8031_powerOff({ dir: at.dir }), {
        retry: 'later',
      })
  }

  async #remove(at: MachineLayout, machine: string): Promise<DeleteResult> {
    const record = await readRecord(at)
    const isThere = (await readdir(at.dir).catch(() => [])).length > 0
    if (record === undefined && !isThere) return 'Gone'
    if (record !== undefined && record.state !== 'Deleting') await writeRecord(at, { ...record, state: 'Deleting' })
    try {
      await this.#powerOff(at, record ?? { machine, machineUid: '', clientToken: '', createdAt: '', state: 'Deleting' })
    } catch (error) {
      this.#options.log.warn('cannot stop a machine', { machine, error })
      return 'Deleting'
    }
    await unmountRoot(at)
    await removeGroups(at)
    await rm(at.dir, { recursive: true, force: true, maxRetries: 5 })
    this.#boots.delete(machine)
    this.#emit(machine, 'Deleted', 'the machine was deleted')
    return 'Deleted'
  }

  async #bootOf(at: MachineLayout, { agent }: NodeRecord): Promise<string | undefined> {
    const supervisor = await findSupervisor(at, agent)
    const leader = supervisor && (await leaderOf(supervisor))
    return leader && bootIdOf(leader)
  }

  async #host(at: MachineLayout, record: NodeRecord): Promise<Host> {
    const { clientToken, machineUid, machine, createdAt } = record
    const bootID = (await this.#bootOf(at, record)) ?? (await readText(at.bootId))?.trim()
    return {
      providerID: NSPAWN_SCHEME + machine,
      clientToken,
      machine,
      machineUid,
      state: await this.#stateOf(at, record),
      address: '127.0.0.1',
      ...defined({ bootID }),
      createdAt,
    }
  }

  async #stateOf(at: MachineLayout, { state, agent }: NodeRecord): Promise<Host['state']> {
    if (state === 'Deleting') return 'Deleting'
    if (state === 'Stopped') return 'Stopped'
    if (state === 'Rebooting' || state === 'Stopping') return 'Running'
    return (await findSupervisor(at, agent)) === undefined ? 'Stopped' : 'Running'
  }

  #emit(machine: string, kind: HostEvent['kind'], message: string): void {
    this.#options.log.info('machine changed', { machine, reason: kind })
    this.#events.emit(machine, kind, message)
  }
}

const PRIVILEGED = 'privileged'
const isPrivileged = (params: HostRequest['params']): boolean => params['privileged'] === 'true'

const notUp = (at: MachineLayout): KubeNodeError =>
  new KubeNodeError(providersErrors.KN11002_notRunning({ dir: at.dir, console: at.console }), { retry: 'later' })
