// Hosts that no Machine names: reported at once, and deleted only after a grace period, when the list of Machines is known to be fresh and no Node lives on
// them.
import { listPages } from '#kube/list-all.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Node, isNodeReady } from '#nodes/objects.ts'
import type { Host, Provider } from '#providers/port.ts'

/** A create whose reply was lost is repeated within seconds; a user who restores a backup of the cluster needs longer to notice. */
export const ORPHAN_GRACE_MS = 15 * 60_000
/** More orphans than this at once are no left-overs: the Machines were lost, or we are connected to another cluster. */
export const MOST_ORPHANS = 10

export interface OrphanInput {
  readonly hosts: readonly Host[]
  readonly machines: readonly Pick<Machine, 'metadata'>[]
  readonly nodeNamed: (name: string) => Node | undefined
  /** When each host was first seen without a Machine, by providerID. */
  readonly since: ReadonlyMap<string, number>
  readonly now: number
}

export interface OrphanPlan {
  readonly orphans: readonly Host[]
  /** Without a Machine for longer than the grace period, with nothing alive on them. */
  readonly remove: readonly Host[]
  /** Why some stay although their time is over. */
  readonly kept: readonly { readonly host: Host; readonly why: string }[]
}

export function planOrphans({ hosts, machines, nodeNamed, since, now }: OrphanInput): OrphanPlan {
  const uids = new Set(machines.map((m) => m.metadata.uid))
  const orphans = hosts.filter((h) => h.state !== 'Deleting' && !uids.has(h.machineUid))
  const due = orphans.filter((h) => now - (since.get(h.providerID) ?? now) >= ORPHAN_GRACE_MS)
  const why = (h: Host): string | undefined => {
    if (orphans.length > MOST_ORPHANS) return `${orphans.length} hosts without a Machine at once`
    return isNodeReady(nodeNamed(h.machine)) ? `node ${h.machine} is Ready` : undefined
  }
  return {
    orphans,
    remove: due.filter((h) => why(h) === undefined),
    kept: due.flatMap((host) => {
      const reason = why(host)
      return reason === undefined ? [] : [{ host, why: reason }]
    }),
  }
}

export interface OrphanTools {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
  /** Throws while the cache is not fresh. */
  readonly machines: () => readonly Machine[]
  readonly nodeNamed: (name: string) => Node | undefined
  readonly tell: (provider: string, orphans: number) => void
}

export class OrphanWatch {
  readonly #tools: OrphanTools
  readonly #since = new Map<string, number>()

  constructor(tools: OrphanTools) {
    this.#tools = tools
  }

  async look(provider: Provider, hosts: readonly Host[], signal: AbortSignal): Promise<void> {
    if (provider.capabilities.isHostKept) return
    const { clock, log, machines, nodeNamed, tell } = this.#tools
    const now = clock.monotonic()
    const plan = planOrphans({ hosts, machines: machines(), nodeNamed, since: this.#since, now })
    this.#remember(provider, plan.orphans, now)
    tell(provider.name, plan.orphans.length)
    for (const { host, why } of plan.kept)
      log.warn('host without a Machine, kept', { host: host.providerID, reason: why })
    for (const host of plan.remove) await this.#remove(provider, host, signal)
  }

  #remember(provider: Provider, orphans: readonly Host[], now: number): void {
    const isOf = (id: string) => id.startsWith(`${provider.name}://`)
    const known = new Set(orphans.map((h) => h.providerID))
    for (const id of this.#since.keys()) if (isOf(id) && !known.has(id)) this.#since.delete(id)
    for (const host of orphans)
      if (!this.#since.has(host.providerID)) {
        this.#since.set(host.providerID, now)
        this.#tools.log.warn('host without a Machine', { host: host.providerID, machine: host.machine })
      }
  }

  /** The cache decided; before the host goes, the server is asked whether it knows a machine of that uid. */
  async #remove(provider: Provider, host: Host, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#tools
    for await (const page of listPages(client, machineType, { signal }))
      if (page.some((m) => m.metadata.uid === host.machineUid)) return
    const still = await provider.get(host.providerID, signal)
    if (still?.machineUid !== host.machineUid) return
    log.warn('releasing a host without a Machine', { host: host.providerID, machine: host.machine })
    await provider.delete(host.providerID, signal)
  }
}
