// Thousands of hollow nodes in one process. One list-watch of all Machines serves them all, because ten thousand named watches would be ten thousand
// streams. The nodes write through one shared client and identity, or each through its own, like a real agent: then a server authorizes and queues each
// of them separately.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import { createInformer, type Informer } from '#kube/informer.ts'
import { withoutManagedFields } from '#kube/trim.ts'
import type { ComponentRecord } from '../components/record.ts'
import type { OsPort } from '../os/port.ts'
import { Catalogue } from './catalogue.ts'
import { noFaults, type HollowFaults } from './faults.ts'
import { HollowNode } from './node.ts'

export interface HollowFleetOptions {
  /** May read and write everything that the agents of all the fleet's nodes may. */
  readonly client: KubeClient
  /** Client of one agent, by its Machine; without it all agents write through the client above. */
  readonly clientOf?: (machine: string, uid: string) => ClosableClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  readonly faults?: HollowFaults
  /** Undefined: another program renews the Leases. */
  readonly leaseMs?: number
  /** False where another program creates the Nodes. */
  readonly registerNodes?: boolean
  /** Has the provider restart a machine's host. Undefined: no provider can. */
  readonly reboot?: (machine: string) => Promise<void>
  /** What a machine's host boots. Undefined: hosts have no boot loader. */
  readonly os?: (machine: string) => OsPort | undefined
}

/** What is known about a host when it starts. */
interface HostSeen {
  readonly latest?: Machine
  /** UID of its Machine. */
  readonly uid?: string | undefined
  /** What its agent kept on disk. */
  readonly records?: readonly ComponentRecord[]
  /** When its boot began; absent: with its agent. */
  readonly bootedAt?: number
}

type ClosableClient = KubeClient & { close(): void }

export class HollowFleet {
  readonly #o: HollowFleetOptions
  readonly #nodes = new Map<string, HollowNode>()
  readonly #clients = new Map<string, ClosableClient>()
  readonly #informer: Informer<Machine>
  readonly #catalogue: Catalogue

  constructor(o: HollowFleetOptions) {
    const { client, clock, random, log } = o
    this.#o = o
    this.#catalogue = new Catalogue(client)
    this.#informer = createInformer({
      client,
      type: machineType,
      clock,
      random,
      startSpreadMs: 0,
      transform: withoutManagedFields,
      notice: (notice) => {
        if (notice.kind === 'Failed') log.warn('watch of machines failed', { error: notice.error })
        else if (notice.kind === 'HandlerFailed') log.error('hollow node failed', { error: notice.error })
        else if (notice.kind === 'Listed') this.#compare()
      },
    })
    this.#informer.addHandler((_, now) => {
      if (now !== undefined) this.#nodes.get(now.metadata.name ?? '')?.obey(now)
    })
  }

  /** A host starts; its Machine may appear later. `latest` is newer than anything that the watch has delivered so far. */
  add(
    machine: string,
    bootId: string,
    { latest, uid = latest?.metadata.uid, records, bootedAt }: HostSeen = {},
  ): HollowNode {
    const known = this.#nodes.get(machine)
    if (known !== undefined) return known
    const { clock, random, log, version, faults = noFaults, leaseMs, registerNodes = true, reboot, os } = this.#o
    const client = this.#clientOf(machine, uid)
    const own = { client, clock, random, log, version, faults, leaseMs, catalogue: this.#catalogue }
    const registerNode = registerNodes && faults.hasKubelet?.(machine) !== true
    const node = new HollowNode({ ...own, machine, bootId, registerNode, reboot, os, records, bootedAt })
    this.#nodes.set(machine, node)
    node.start()
    const seen = latest ?? this.#informer.store.get({ name: machine })
    if (seen !== undefined) node.obey(seen)
    return node
  }

  #compare(): void {
    for (const machine of this.#informer.store.list()) this.#nodes.get(machine.metadata.name ?? '')?.compare(machine)
  }

  #clientOf(machine: string, uid: string | undefined): KubeClient {
    const { client, clientOf } = this.#o
    if (clientOf === undefined || uid === undefined) return client
    const own = this.#clients.get(machine) ?? clientOf(machine, uid)
    this.#clients.set(machine, own)
    return own
  }

  /** The host was deleted, with everything that ran on it. */
  async remove(machine: string): Promise<void> {
    const node = this.#nodes.get(machine)
    this.#nodes.delete(machine)
    await node?.close()
    this.#clients.get(machine)?.close()
    this.#clients.delete(machine)
  }

  /** The host restarts: a new boot, the same disk. */
  async reboot(machine: string, bootId: string, seen: HostSeen = {}): Promise<void> {
    const records = this.#nodes.get(machine)?.records()
    await this.remove(machine)
    this.add(machine, bootId, { ...seen, ...(records !== undefined && records.length > 0 && { records }) })
  }

  node(machine: string): HollowNode | undefined {
    return this.#nodes.get(machine)
  }

  get nodes(): readonly HollowNode[] {
    return [...this.#nodes.values()]
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal)
    await Promise.all(this.nodes.map((n) => n.close()))
    for (const client of this.#clients.values()) client.close()
  }
}
