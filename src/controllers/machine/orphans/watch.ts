// Reports hosts that belong to no Machine at once. Deletes them only if the providers file allows it, after a grace period, with a fresh list of
// Machines, and if neither Node nor agent was ever observed.
import { agentLeaseKey } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import type { LogFields, Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { listPages } from '#kube/list-all.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Host, Provider } from '#providers/port.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import { exempt } from '#permits/under-permit.ts'
import { endHost } from '../hosts/end.ts'
import { machinesByHost, observedOn } from '../hosts/in-use.ts'
import type { OrphanReports } from './reports.ts'
import { type OrphanPlan, planOrphans } from './plan.ts'

export interface OrphanTools {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'monotonic' | 'now'>
  readonly log: Logger
  /** Throws while a cache is not fresh. */
  readonly machines: () => readonly Machine[]
  readonly nodes: () => readonly Node[]
  readonly leaseNamed: (name: string) => Lease | undefined
  readonly policyOf: (provider: string) => OrphanPolicy
  readonly report: (provider: string, orphans: number) => void
  readonly reports: OrphanReports
}

interface Orphaned {
  readonly machineUid: string
  readonly clientToken: string
  /** When it was first listed with these two. */
  readonly since: number
  /** The last logged reason. */
  why?: string
}

/** Log lines per list: a provider with ever-changing lists must not flood the log. */
const MOST_LOGGED = 20
/** Far more hosts than a cluster loses track of. */
const MOST_SIGHTINGS = 10_000

const isSameClaim = (known: Orphaned, { machineUid, clientToken }: Host): boolean =>
  known.machineUid === machineUid && known.clientToken === clientToken

export class OrphanWatch {
  readonly #tools: OrphanTools
  readonly #known = new Map<string, Orphaned>()
  /** By providerID: its observed Node or agent. Kept even if a later list lacks the host. */
  readonly #heard = new Map<string, string>()

  constructor(tools: OrphanTools) {
    this.#tools = tools
  }

  /** `hosts` were listed before the caches are read here, so a Machine created in between is not missed. */
  async observe(provider: Provider, hosts: readonly Host[], signal: AbortSignal): Promise<void> {
    if (provider.capabilities.isHostKept) return this.#forgetEarlier(provider, hosts, signal)
    const { clock, machines, nodes, leaseNamed, policyOf, report, reports } = this.#tools
    const isKnown = await reports.begin(provider.name, signal)
    const now = clock.monotonic()
    const all = machines()
    const machineNames = new Set(all.map((m) => m.metadata.name ?? ''))
    const lastSeenOf = this.#lastSeenOf(provider, observedOn({ nodes: nodes(), leaseNamed, machineNames }))
    const approved = new Set(hosts.filter((h) => reports.isApproved(h)))
    const plan = planOrphans({
      hosts,
      machines: all,
      lastSeenOf,
      since: this.#sinceOf(hosts),
      now,
      visibleWithinMs: provider.capabilities.visibleWithinMs,
      policy: policyOf(provider.name),
      isApproved: (host) => approved.has(host),
    })
    this.#remember(provider, plan, now)
    for (const host of plan.orphans) lastSeenOf(host)
    report(provider.name, plan.orphans.length)
    await reports.publish(provider.name, this.#entries(plan, lastSeenOf, now), signal)
    if (!isKnown) return
    for (const host of plan.remove) {
      if (approved.has(host) && !(await reports.isStillApproved(host, signal))) continue
      await this.#remove(provider, host, signal)
    }
  }

  /**
   * The recorded host of an earlier Machine whose finalizer a person removed. The current Machine with the name could not have it. The provider only
   * forgets the host; nothing on it stops.
   */
  async #forgetEarlier(provider: Provider, hosts: readonly Host[], signal: AbortSignal): Promise<void> {
    const uids = new Map(this.#tools.machines().map((m) => [m.metadata.name, m.metadata.uid]))
    for (const { machine, machineUid, providerID } of hosts) {
      const now = uids.get(machine)
      if (now === undefined || now === machineUid) continue
      this.#tools.log.warn('forgetting which host an earlier Machine had', { host: providerID, machine })
      await endHost(exempt('HostKept'), provider, providerID, signal)
    }
  }

  /** If a host now claims another Machine, its grace period restarts: others may have changed its tags. */
  #sinceOf(hosts: readonly Host[]): ReadonlyMap<string, number> {
    return new Map(
      hosts.flatMap((host) => {
        const known = this.#known.get(host.providerID)
        return known !== undefined && isSameClaim(known, host) ? [[host.providerID, known.since] as const] : []
      }),
    )
  }

  /** An observation stays, even after the Node and Lease were deleted, and whatever Machine the host claims. */
  #lastSeenOf(
    { name }: Pick<Provider, 'name'>,
    observed: (host: Host) => string | undefined,
  ): (host: Host) => string | undefined {
    return (host) => {
      const before = this.#heard.get(host.providerID)
      if (before !== undefined) return before
      const lastSeen = observed(host) ?? this.#tools.reports.recordedSighting(name, host)
      if (lastSeen === undefined) return undefined
      this.#heard.set(host.providerID, lastSeen)
      const [oldest] = this.#heard.keys()
      if (this.#heard.size > MOST_SIGHTINGS && oldest !== undefined) this.#heard.delete(oldest)
      return lastSeen
    }
  }

  #entries({ orphans, kept }: OrphanPlan, lastSeenOf: (host: Host) => string | undefined, now: number) {
    const wallNow = this.#tools.clock.now()
    return orphans.map((host) => {
      const lastSeen = lastSeenOf(host)
      return {
        host,
        sinceMs: wallNow - (now - (this.#known.get(host.providerID)?.since ?? now)),
        why: kept.find((k) => k.host === host)?.why ?? lastSeen,
        heard: lastSeen,
      }
    })
  }

  #remember(provider: Provider, { orphans, kept }: OrphanPlan, now: number): void {
    const { log } = this.#tools
    const isOf = (id: string) => id.startsWith(`${provider.name}://`)
    const changes: (readonly [string, LogFields])[] = []
    const listed = new Set(orphans.map((h) => h.providerID))
    for (const id of this.#known.keys()) if (isOf(id) && !listed.has(id)) this.#known.delete(id)
    for (const host of orphans) {
      const { providerID, machine, machineUid, clientToken } = host
      const known = this.#known.get(providerID)
      if (known !== undefined && isSameClaim(known, host)) continue
      this.#known.set(providerID, { machineUid, clientToken, since: now })
      changes.push(['host without a Machine', { host: providerID, machine }])
    }
    for (const { host, why } of kept) {
      const known = this.#known.get(host.providerID)
      if (known === undefined || known.why === why) continue
      known.why = why
      changes.push(['host without a Machine, kept', { host: host.providerID, machine: host.machine, reason: why }])
    }
    for (const [message, fields] of changes.slice(0, MOST_LOGGED)) log.warn(message, fields)
    if (changes.length > MOST_LOGGED)
      log.warn('more hosts without a Machine', { provider: provider.name, count: changes.length - MOST_LOGGED })
  }

  /** The decision used the caches. Right before the deletion, the server is asked whether the host is in use. */
  async #remove(provider: Provider, host: Host, signal: AbortSignal): Promise<void> {
    const { log } = this.#tools
    const still = await provider.get(host.providerID, signal)
    if (still?.machineUid !== host.machineUid || still.clientToken !== host.clientToken) return
    const { providerID, machine } = host
    const why = await this.#useNow(still, signal)
    if (why !== undefined) {
      log.warn('host without a Machine, kept', { host: providerID, machine, reason: why })
      return
    }
    log.warn('releasing a host without a Machine', { host: providerID, machine })
    await endHost(exempt('NoMachine'), provider, providerID, signal)
  }

  /** Page by page: a fleet is large. */
  async #useNow(host: Host, signal: AbortSignal): Promise<string | undefined> {
    const { client } = this.#tools
    const machineNames = new Set<string>()
    for await (const page of listPages(client, machineType, { signal })) {
      const own = page.find((m) => m.metadata.uid === host.machineUid)
      const isSecond = own?.spec.providerID !== undefined && own.spec.providerID !== host.providerID
      if (own !== undefined && (!isSecond || own.status?.provisioning?.token === host.clientToken))
        return `machine ${own.metadata.name ?? ''} has it`
      const claim = machinesByHost(page)(host)
      if (claim !== undefined) return claim
      for (const { metadata } of page) machineNames.add(metadata.name ?? '')
    }
    const key = agentLeaseKey(host.machine)
    const lease = await client.get(leaseType, key, { signal })
    for await (const nodes of listPages(client, nodeType, { signal })) {
      const observed = observedOn({ nodes, leaseNamed: () => lease, machineNames })(host)
      if (observed !== undefined) return observed
    }
    return observedOn({ nodes: [], leaseNamed: () => lease, machineNames })(host)
  }
}
