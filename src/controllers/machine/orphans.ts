// Hosts that belong to no Machine: reported at once, and deleted only where the providers file says so, after a grace period, when the list of Machines is known to
// be fresh and neither a Node nor an agent of them was ever observed.
import { ANNOTATIONS, agentLeaseName } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { listPages } from '#kube/list-all.ts'
import type { Node } from '#nodes/objects.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Host, Provider } from '#providers/port.ts'
import type { Lease } from '#runtime/lease.ts'
import type { OrphanReports } from './orphan-reports.ts'
import { type OrphanPlan, planOrphans } from './plan-orphans.ts'

export interface OrphanTools {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'monotonic' | 'now'>
  readonly log: Logger
  /** Throws while a cache is not fresh. */
  readonly machines: () => readonly Machine[]
  readonly nodes: () => readonly Node[]
  readonly leaseNamed: (name: string) => Lease | undefined
  readonly policyOf: (provider: string) => OrphanPolicy
  readonly tell: (provider: string, orphans: number) => void
  readonly reports: OrphanReports
}

interface Orphaned {
  readonly since: number
  /** The Node or agent of it that was observed once: it stays so. */
  heard?: string
  /** The reason that was logged last. */
  why?: string
}

export class OrphanWatch {
  readonly #tools: OrphanTools
  readonly #known = new Map<string, Orphaned>()

  constructor(tools: OrphanTools) {
    this.#tools = tools
  }

  /** `hosts` were listed before the caches are read here: a Machine made meanwhile is not missed. */
  async look(provider: Provider, hosts: readonly Host[], signal: AbortSignal): Promise<void> {
    if (provider.capabilities.isHostKept) return
    const { clock, machines, nodes, policyOf, tell, reports } = this.#tools
    const now = clock.monotonic()
    const all = machines()
    const heardOf = this.#heard(nodes(), new Set(all.map((m) => m.metadata.name ?? '')))
    const plan = planOrphans({
      hosts,
      machines: all,
      heardOf,
      since: new Map([...this.#known].map(([id, { since }]) => [id, since])),
      now,
      visibleWithinMs: provider.capabilities.visibleWithinMs,
      policy: policyOf(provider.name),
      isApproved: (host) => reports.isApproved(host),
    })
    this.#remember(provider, plan, now)
    for (const host of plan.orphans) heardOf(host)
    tell(provider.name, plan.orphans.length)
    await reports.publish(provider.name, this.#entries(plan, heardOf, now), signal)
    for (const host of plan.remove) await this.#remove(provider, host, signal)
  }

  /** A Node or a Lease of the host's name counts unless it is known to be of another machine. */
  #heard(nodes: readonly Node[], machineNames: ReadonlySet<string>): (host: Host) => string | undefined {
    const byName = new Map(nodes.map((n) => [n.metadata.name, n]))
    const byID = new Map(nodes.map((n) => [n.spec?.['providerID'], n]))
    return (host) => {
      const { providerID, machine, machineUid } = host
      const known = this.#known.get(providerID)
      if (known?.heard !== undefined) return known.heard
      const isOf = (uid: string | undefined) => (uid === undefined ? !machineNames.has(machine) : uid === machineUid)
      const node = byID.get(providerID) ?? byName.get(machine)
      const lease = this.#tools.leaseNamed(agentLeaseName(machine))
      const isNodes =
        node !== undefined && (byID.has(providerID) || isOf(node.metadata.annotations?.[ANNOTATIONS.machineUid]))
      const isLeases = lease !== undefined && isOf(lease.metadata.annotations?.[ANNOTATIONS.machineUid])
      const heard = isNodes
        ? `node ${node.metadata.name ?? ''} is on it`
        : isLeases
          ? `agent ${machine} ran on it`
          : undefined
      if (heard !== undefined && known !== undefined) known.heard = heard
      return heard
    }
  }

  #entries({ orphans, kept }: OrphanPlan, heardOf: (host: Host) => string | undefined, now: number) {
    const wallNow = this.#tools.clock.now()
    return orphans.map((host) => ({
      host,
      sinceMs: wallNow - (now - (this.#known.get(host.providerID)?.since ?? now)),
      why: kept.find((k) => k.host === host)?.why ?? heardOf(host),
    }))
  }

  #remember(provider: Provider, { orphans, kept }: OrphanPlan, now: number): void {
    const { log } = this.#tools
    const isOf = (id: string) => id.startsWith(`${provider.name}://`)
    const listed = new Set(orphans.map((h) => h.providerID))
    for (const id of this.#known.keys()) if (isOf(id) && !listed.has(id)) this.#known.delete(id)
    for (const { providerID, machine } of orphans)
      if (!this.#known.has(providerID)) {
        this.#known.set(providerID, { since: now })
        log.warn('host without a Machine', { host: providerID, machine })
      }
    for (const { host, why } of kept) {
      const known = this.#known.get(host.providerID)
      if (known === undefined || known.why === why) continue
      known.why = why
      log.warn('host without a Machine, kept', { host: host.providerID, machine: host.machine, reason: why })
    }
  }

  /** The cache decided; before the host is deleted, the server is asked whether it has a Machine of that uid that names this host. */
  async #remove(provider: Provider, host: Host, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#tools
    for await (const page of listPages(client, machineType, { signal }))
      for (const { metadata, spec, status } of page) {
        if (metadata.uid !== host.machineUid) continue
        const isSecond = spec.providerID !== undefined && spec.providerID !== host.providerID
        if (!isSecond || status?.provisioning?.token === host.clientToken) return
      }
    const still = await provider.get(host.providerID, signal)
    if (still?.machineUid !== host.machineUid) return
    log.warn('releasing a host without a Machine', { host: host.providerID, machine: host.machine })
    await provider.delete(host.providerID, signal)
  }
}
