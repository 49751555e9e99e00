// What clients hold for a while (bytes of bodies and of answers, watches, connections, places in a queue): one table of bounds, one rule.
// Invariants: no more than `all` is held, but for what cannot be refused any more and the heartbeats of `ALWAYS`; however many others
// there are, leaders, nodes and administrators find their parts; and twenty greedy identities leave room for the next.
import type { RequestUser } from '../builtin/kind.ts'
import { isProgram } from './lane.ts'

/** Who is trusted with what comes before who it is. Leaders: programs that hold a Lease. Nodes: kubelets and agents. */
export type Share = 'leaders' | 'nodes' | 'administrators' | 'others'
export type Held = 'bodyBytes' | 'unreadBytes' | 'watches' | 'connections' | 'waiting'

export interface Bound {
  readonly all: number
  /** Part of all that others never take, beside those of leaders and administrators: nodes find it, however many others there are. */
  readonly forNodes: number
  /** The most that one identity of a share holds. */
  readonly each: Readonly<Record<Share, number>>
}

export type Bounds = Readonly<Record<Held, Bound>>

/** Whose it is. */
export interface Holder {
  readonly name: string
  readonly share: Share
  /** The namespace of a service account: its accounts together take what is left as one identity does. */
  readonly tenant?: string
}

/** Part of all that only leaders take, and that only leaders and administrators take. */
const FOR_LEADERS = 1 / 16
const FOR_ADMINISTRATORS = 1 / 8

const MOST: Readonly<Record<Share, number>> = {
  leaders: 1,
  nodes: 1 - FOR_LEADERS - FOR_ADMINISTRATORS,
  administrators: 1 - FOR_LEADERS,
  others: 1 - FOR_LEADERS - FOR_ADMINISTRATORS,
}

/** What a leader or a node that holds less may always take, whatever the others of its share hold: one heartbeat. Few: each has a certificate. */
const ALWAYS: Readonly<Partial<Record<Held, number>>> = { bodyBytes: 4 * 1024, waiting: 1 }

const NODES: readonly string[] = ['system:nodes', 'kubenode:agents']
const ACCOUNT = 'system:serviceaccount:'

/** Whose it is that this user takes. */
export function holderOf({ name, groups }: Pick<RequestUser, 'name' | 'groups'>): Holder {
  if (groups.includes('system:masters')) return { name, share: 'administrators' }
  if (isProgram(name)) return { name, share: 'leaders' }
  if (groups.some((g) => NODES.includes(g))) return { name, share: 'nodes' }
  if (!name.startsWith(ACCOUNT)) return { name, share: 'others' }
  return { name, share: 'others', tenant: name.slice(0, name.indexOf(':', ACCOUNT.length)) }
}

interface Now {
  /** What the identity holds, its tenant does where it has one, its share does, and all do. */
  readonly own: number
  readonly tenant?: number
  readonly ofShare: number
  readonly sum: number
}

/**
 * How much more one identity may take: up to its own bound; and when little is left, its tenant no more than a quarter of what it
 * leaves, so that the last of it goes to many. Administrators may take all that is left.
 */
export function roomFor(
  { all, each, forNodes }: Bound,
  share: Share,
  { own, tenant = own, ofShare, sum }: Now,
): number {
  const ofAll = all * MOST[share] - sum
  const left = share === 'others' ? Math.min(ofAll, all * (MOST.others - forNodes) - ofShare) : ofAll
  const most = Math.min(left, each[share] - own)
  // tenant + x <= (left - x) / 4
  return share === 'administrators' ? most : Math.min(most, (left - 4 * tenant) / 5)
}

interface Count {
  sum: number
  readonly ofShare: Record<Share, number>
  readonly by: Readonly<Record<Share, Map<string, number>>>
  readonly tenants: Map<string, number>
}

const none = (): Count => ({
  sum: 0,
  ofShare: { leaders: 0, nodes: 0, administrators: 0, others: 0 },
  by: { leaders: new Map(), nodes: new Map(), administrators: new Map(), others: new Map() },
  tenants: new Map(),
})

export class Holdings {
  readonly #bounds: Bounds
  readonly #counts: Readonly<Record<Held, Count>> = {
    bodyBytes: none(),
    unreadBytes: none(),
    watches: none(),
    connections: none(),
    waiting: none(),
  }

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  held(what: Held): number {
    return this.#counts[what].sum
  }

  /** False when that would be more than allowed; `most` is a narrower bound for this identity. */
  take(what: Held, who: Holder, amount: number, most = Number.POSITIVE_INFINITY): boolean {
    if (amount > this.#room(what, who, most)) return false
    this.add(what, who, amount)
    return true
  }

  /** What is there already and cannot be refused; the next is, see `isSpent`. */
  add(what: Held, { name, share, tenant }: Holder, amount: number): void {
    const count = this.#counts[what]
    count.sum += amount
    count.ofShare[share] += amount
    change(count.by[share], name, amount)
    if (tenant !== undefined) change(count.tenants, tenant, amount)
  }

  give(what: Held, who: Holder, amount: number): void {
    this.add(what, who, -amount)
  }

  /** It holds so much that further requests are refused. Who holds nothing is never refused for what others hold. */
  isSpent(what: Held, who: Holder): boolean {
    const own = this.#counts[what].by[who.share].get(who.name) ?? 0
    return own > 0 && this.#room(what, who) <= 0
  }

  /** It holds more than any identity may, whatever the others hold. */
  isOver(what: Held, { name, share }: Holder): boolean {
    return (this.#counts[what].by[share].get(name) ?? 0) > this.#bounds[what].each[share]
  }

  #room(what: Held, { name, share, tenant }: Holder, most = Number.POSITIVE_INFINITY): number {
    const { sum, ofShare, by, tenants } = this.#counts[what]
    const own = by[share].get(name) ?? 0
    const ofTenant = tenant === undefined ? own : (tenants.get(tenant) ?? 0)
    const room = roomFor(this.#bounds[what], share, { own, tenant: ofTenant, ofShare: ofShare[share], sum })
    const always = share === 'leaders' || share === 'nodes' ? (ALWAYS[what] ?? 0) - own : 0
    return Math.min(most - own, Math.max(room, always))
  }
}

function change(amounts: Map<string, number>, of: string, by: number): void {
  const now = (amounts.get(of) ?? 0) + by
  if (now > 0) amounts.set(of, now)
  else amounts.delete(of)
}
