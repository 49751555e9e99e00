// Decides whether the target of an orphaned slot is idle: it is healthy, has no disruptive order, and its agent has renewed its Lease since. Only
// then is the slot freed: a disconnected agent may still be in the middle of the operation.
import type { Machine } from '#api/kinds/machine.ts'
import { openSwitches } from '#api/protocol/component-order.ts'
import { machine } from '#api/kinds/machine.ts'
import { NODE_LEASES, agentLeaseKey } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { leaseType } from '#runtime/lease.ts'
import type { FleetView } from './fleet.ts'
import type { Grant } from './ledger.ts'
import { type Unit, machineHealth } from './unit.ts'

/** Concurrent requests. */
const AT_ONCE = 8
/** An agent renews every ten seconds, but decisions may follow within milliseconds. Reading the Lease for each would be wasted. */
const REQUEUE_MS = 2_000

export class IdleWatch {
  readonly #client: Pick<KubeClient, 'get'>
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The first heartbeat observed since the target came to rest. */
  readonly #first = new Map<string, string>()
  readonly #idle = new Set<string>()
  /** When an orphan's heartbeat was last read. */
  readonly #askedAt = new Map<string, number>()

  constructor(client: Pick<KubeClient, 'get'>, clock: Pick<Clock, 'monotonic'>) {
    this.#client = client
    this.#clock = clock
  }

  isIdle(grant: Grant): boolean {
    return this.#idle.has(grantKey(grant))
  }

  /** Checks every orphan. Reads its heartbeat at most every two seconds. An unreadable Lease proves nothing. */
  async observe(orphans: readonly Grant[], fleet: FleetView): Promise<void> {
    const keys = new Set(orphans.map(grantKey))
    for (const key of this.#first.keys()) if (!keys.has(key)) this.#first.delete(key)
    for (const key of this.#idle) if (!keys.has(key)) this.#idle.delete(key)
    for (const key of this.#askedAt.keys()) if (!keys.has(key)) this.#askedAt.delete(key)
    for (let i = 0; i < orphans.length; i += AT_ONCE)
      await Promise.all(orphans.slice(i, i + AT_ONCE).map((grant) => this.#check(grant, fleet)))
  }

  async #check(grant: Grant, fleet: FleetView): Promise<void> {
    const key = grantKey(grant)
    const found = fleet.find({ ...grant, uid: grant.target })
    if (found.kind !== 'Found' || !isAtRest(found.unit, grant)) {
      this.#first.delete(key)
      this.#idle.delete(key)
      return
    }
    const lease = leaseKey(found.unit)
    if (lease === undefined) {
      this.#idle.add(key)
      return
    }
    const now = this.#clock.monotonic()
    if (now - (this.#askedAt.get(key) ?? -Infinity) < REQUEUE_MS) return
    this.#askedAt.set(key, now)
    const read = await this.#client.get(leaseType, lease).catch(() => undefined)
    const renewed = read?.spec?.renewTime
    if (renewed === undefined) return
    const first = this.#first.get(key)
    if (first === undefined) this.#first.set(key, renewed)
    else if (first !== renewed && (await this.#isAtRestNow(found.unit, grant))) this.#idle.add(key)
  }

  /** The cache may be older than the heartbeat. Before the slot is freed, the target is read from the server. */
  async #isAtRestNow({ source, name }: Unit, grant: Grant): Promise<boolean> {
    if (source.kind !== machine.kind) return true
    const fresh = await this.#client.get(machine, { name }).catch(() => undefined)
    if (fresh === undefined || fresh.metadata.uid !== source.metadata.uid) return false
    return machineHealth(fresh, undefined).health === 'Healthy' && hasNoOrder(fresh, grant)
  }
}

function isAtRest(unit: Unit, grant: Grant): boolean {
  if (unit.health !== 'Healthy' || unit.isSilent) return false
  return unit.source.kind !== machine.kind || hasNoOrder(unit.source as Machine, grant)
}

function hasNoOrder(machine: Machine, { permit }: Grant): boolean {
  return (machine.spec.jobs ?? []).length === 0 && !openSwitches(machine).some((c) => c.switch?.permit === permit)
}

/** A target without an agent sends no heartbeats. */
function leaseKey(unit: Unit): { readonly namespace: string; readonly name: string } | undefined {
  if (unit.source.kind === 'Node') return { namespace: NODE_LEASES, name: unit.name }
  if (unit.source.kind !== machine.kind || (unit.source as Machine).spec.channel !== 'Agent') return undefined
  return agentLeaseKey(unit.name)
}

const grantKey = ({ target, permitUid }: Grant): string => `${target}\n${permitUid}`
