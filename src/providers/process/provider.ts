// Nodes without a cloud: a directory and processes on this machine. The provider keeps all its state on disk, so it continues after a restart.
import { randomUUID } from 'node:crypto'
import { access, mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
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
import { type AgentCommand, findAgent, startAgent } from './agent-process.ts'
import { endAll } from './end.ts'
import { type Crashes, needOf } from './keeper.ts'
import { type NodeLayout, nodeLayout } from './layout.ts'
import { isAlive, signalExactly } from './proc.ts'
import { type NodeRecord, isAbsent, readRecord, readText, writeRecord, writeWhole } from './record.ts'
import { providersErrors } from '../providers-errors.ts'

export interface ProcessProviderOptions {
  /** One subfolder per node. */
  readonly dir: string
  readonly agent: AgentCommand
  readonly clock: Clock
  readonly log: Logger
  readonly newBootId?: () => string
  /** The desired text of agent.json; if left out, existing agents keep their file and new ones use the defaults. */
  readonly agentConfig?: AgentConfigText
  /** Node's compile cache folder. Set through the environment it also covers the agents' entry file, which saves a third of their startup. */
  readonly compileCache?: string
}

const PROCESS_SCHEME = 'process://'
/** Where programs and detectors expect logs and settings on any host. */
const foundOnHosts = (root: string): readonly string[] => [join(root, 'var/log'), join(root, 'etc')]
/** Checking a node is two small reads; a crashed agent is noticed within half a second. */
const POLL_MS = 500

export async function createProcessProvider(options: ProcessProviderOptions): Promise<Provider> {
  await mkdir(options.dir, { recursive: true, mode: 0o700 })
  // /proc shows real paths, so compare with a real path.
  return new ProcessProvider({ ...options, dir: await realpath(options.dir) })
}

class ProcessProvider implements Provider {
  readonly name = 'process'
  readonly capabilities = LOCAL_CAPABILITIES
  readonly #options: ProcessProviderOptions
  readonly #crashes = new Map<string, Crashes>()
  readonly #folders: MachineFolders<NodeLayout>
  readonly #events = new HostEvents(PROCESS_SCHEME)
  readonly #configs: ConfigFiles

  constructor(options: ProcessProviderOptions) {
    this.#options = options
    this.#configs = new ConfigFiles(options.agentConfig)
    this.#folders = new MachineFolders({ scheme: PROCESS_SCHEME, dir: options.dir, layout: nodeLayout })
  }

  create(request: HostRequest): Promise<CreateResult> {
    return this.#folders.create(request, async (node, known) => {
      const record =
        known === undefined ? await this.#make(node, request) : await this.#refreshJoin(node, known, request)
      return this.#host(node, record.state === 'Running' ? (await this.#ensureAgent(node, record)).record : record)
    })
  }

  async get(providerID: string): Promise<Host | undefined> {
    const node = this.#nodeOf(providerID)
    const record = node && (await readRecord(node))
    return node && record && this.#host(node, record)
  }

  async list(): Promise<HostList> {
    const asOf = timestamp(this.#options.clock.now())
    return { hosts: await this.#folders.hosts((id) => this.get(id)), asOf }
  }

  async delete(providerID: string): Promise<DeleteResult> {
    const machine = this.#folders.machineOf(providerID)
    return machine === undefined ? 'Gone' : this.#folders.inTurn(machine, (node) => this.#remove(node, machine))
  }

  async reboot(providerID: string): Promise<Ordered> {
    const node = this.#nodeOf(providerID)
    if (node === undefined || (await readRecord(node)) === undefined) return 'Gone'
    await writeWhole(node.rebootRequest, '{}\n')
    return 'Ordered'
  }

  /** The intent is on disk before anything stops or starts, so that a crash in between does not leave half of it. */
  async power(providerID: string, to: 'On' | 'Off'): Promise<Ordered> {
    const machine = this.#folders.machineOf(providerID)
    if (machine === undefined) return 'Gone'
    return this.#folders.inTurn(machine, async (node): Promise<Ordered> => {
      const record = await readRecord(node)
      if (record === undefined || record.state === 'Deleting') return 'Gone'
      const isOff = record.state === 'Stopped' || record.state === 'Stopping'
      if (to === 'Off' && record.state !== 'Stopped') await this.#stop(node, { ...record, state: 'Stopping' })
      if (to === 'On' && isOff) await this.#restart(node, record)
      return 'Ordered'
    })
  }

  events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    return this.#events.listen(onEvent, signal)
  }

  /** Keeps agents alive and carries out nodes' requests until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      const observed = this.#folders.names().then((all) => Promise.all(all.map((machine) => this.#observe(machine))))
      await observed.catch((error: unknown) => log.warn('cannot reconcile the nodes', { error }))
      await clock.sleep(POLL_MS, signal).catch(() => undefined)
    }
  }

  async #observe(machine: string): Promise<void> {
    const { log } = this.#options
    const work = this.#folders.inTurn(machine, (node) => this.#keep(node, machine))
    await work.catch((error: unknown) => log.warn('cannot reconcile a node', { machine, error }))
  }

  async #keep(node: NodeLayout, machine: string): Promise<void> {
    const { clock } = this.#options
    const record = await readRecord(node)
    if (record === undefined) return
    if (record.state === 'Running') await this.#configs.keep(node.agentConfig)
    const need = needOf(
      {
        state: record.state,
        // Search for others only before a start: that reads all processes of the machine.
        isAgentAlive: record.agent !== undefined && (await isAlive(record.agent)),
        rebootRequested: await exists(node.rebootRequest),
        crashes: this.#crashes.get(machine) ?? { inARow: 0 },
      },
      clock.monotonic(),
    )
    switch (need.kind) {
      case 'Nothing':
      case 'Wait':
        return
      case 'Start': {
        this.#crashes.set(machine, need.crashes)
        const { isNew } = await this.#ensureAgent(node, record)
        if (isNew) this.#emit(machine, 'Started', 'the agent was started')
        return
      }
      case 'Reboot':
        return this.#restart(node, record)
      case 'FinishStop':
        return this.#stop(node, record)
      case 'FinishDelete': {
        await this.#remove(node, machine)
        return
      }
      default:
        assertNever(need)
    }
  }

  /** The record comes last: a crash before it leaves a folder that the next create fills again. */
  async #make(node: NodeLayout, { machine, machineUid, clientToken, join }: HostRequest): Promise<NodeRecord> {
    for (const folder of [node.dir, node.root, ...foundOnHosts(node.root), node.state, node.logs])
      await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeWhole(node.bootId, `${this.#newBootId()}\n`)
    this.#configs.forget(node.agentConfig)
    await this.#configs.keep(node.agentConfig)
    await writeWhole(node.join, `${JSON.stringify(join)}\n`)
    const createdAt = timestamp(this.#options.clock.now())
    const record: NodeRecord = { clientToken, machineUid, machine, createdAt, state: 'Running' }
    await writeRecord(node, record)
    return record
  }

  /** Until the agent has joined, or if it should join again, a newer token replaces a possibly expired one. */
  async #refreshJoin(node: NodeLayout, record: NodeRecord, { join, joinsAgain }: HostRequest): Promise<NodeRecord> {
    const text = `${JSON.stringify(join)}\n`
    const waiting = await readText(node.join)
    if ((waiting === undefined && joinsAgain !== true) || waiting === text) return record
    await writeWhole(node.join, text)
    if (record.agent !== undefined) await signalExactly(record.agent, 'SIGKILL')
    return record
  }

  /** Records an agent that runs without a record; otherwise starts a new one. */
  async #ensureAgent(node: NodeLayout, record: NodeRecord): Promise<{ record: NodeRecord; isNew: boolean }> {
    const { agent, clock, compileCache } = this.#options
    const alive = await findAgent(node, agent, record.agent)
    if (alive !== undefined && alive.startTime === record.agent?.startTime) return { record, isNew: false }
    const started = alive ?? (await startAgent(node, agent, compileCache))
    const next: NodeRecord = { ...record, agent: started }
    await writeRecord(node, next)
    await writeWhole(node.pid, `${started.pid} ${started.startTime}\n`)
    if (!this.#crashes.has(record.machine))
      this.#crashes.set(record.machine, { inARow: 0, startedAt: clock.monotonic() })
    return { record: next, isNew: alive === undefined }
  }

  /** The next round ends whatever still runs. */
  async #stop(node: NodeLayout, stopping: NodeRecord): Promise<void> {
    await writeRecord(node, stopping)
    await rm(node.rebootRequest, { force: true })
    if ((await endAll(node, stopping.agent?.pid, this.#options.clock)) === 'Left') return
    const { agent: _, ...rest } = stopping
    await writeRecord(node, { ...rest, state: 'Stopped' })
    this.#crashes.delete(stopping.machine)
    this.#emit(stopping.machine, 'Stopped', 'the node was switched off')
  }

  /** The intent is on disk before the request is sent, so a crash in between ends in exactly one visible reboot. */
  async #restart(node: NodeLayout, record: NodeRecord): Promise<void> {
    const { clock } = this.#options
    const rebooting: NodeRecord = { ...record, state: 'Rebooting' }
    await writeRecord(node, rebooting)
    await rm(node.rebootRequest, { force: true })
    if ((await endAll(node, record.agent?.pid, clock)) === 'Left') throw leftOver(node)
    // After a boot, a kernel finds its hardware and counts the errors of it from zero.
    for (const folder of [node.sys, node.proc]) await rm(folder, { recursive: true, force: true })
    // And its clock is set from the hardware.
    await rm(node.playedClock, { force: true })
    await writeWhole(node.bootId, `${this.#newBootId()}\n`)
    const { agent: _, ...rest } = rebooting
    const running: NodeRecord = { ...rest, state: 'Running' }
    await writeRecord(node, running)
    this.#crashes.delete(record.machine)
    await this.#ensureAgent(node, running)
    this.#emit(record.machine, 'Rebooted', 'the node was restarted')
  }

  async #remove(node: NodeLayout, machine: string): Promise<DeleteResult> {
    const record = await readRecord(node).catch(() => undefined)
    const isThere = await exists(node.dir)
    if (record !== undefined && record.state !== 'Deleting') await writeRecord(node, { ...record, state: 'Deleting' })
    if ((await endAll(node, record?.agent?.pid, this.#options.clock)) === 'Left') return 'Deleting'
    await rm(node.dir, { recursive: true, force: true })
    this.#crashes.delete(machine)
    this.#configs.forget(node.agentConfig)
    if (!isThere) return 'Gone'
    this.#emit(machine, 'Deleted', 'the node was deleted')
    return 'Deleted'
  }

  async #host(node: NodeLayout, { clientToken, machineUid, machine, createdAt, state }: NodeRecord): Promise<Host> {
    const bootID = (await readText(node.bootId))?.trim()
    return {
      providerID: PROCESS_SCHEME + machine,
      clientToken,
      machine,
      machineUid,
      state: state === 'Deleting' || state === 'Stopped' ? state : 'Running',
      address: '127.0.0.1',
      ...defined({ bootID }),
      createdAt,
    }
  }

  #newBootId(): string {
    return this.#options.newBootId?.() ?? randomUUID()
  }

  #nodeOf(providerID: string): NodeLayout | undefined {
    const machine = this.#folders.machineOf(providerID)
    return machine === undefined ? undefined : this.#folders.at(machine)
  }

  #emit(machine: string, kind: HostEvent['kind'], message: string): void {
    this.#options.log.info('node changed', { machine, reason: kind })
    this.#events.emit(machine, kind, message)
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (e: unknown) => {
      if (isAbsent(e)) return false
      throw e
    },
  )

const leftOver = (node: NodeLayout): KubeNodeError =>
  new KubeNodeError(providersErrors.KN8031_machine({ dir: node.dir }), {
    retry: 'later',
  })
