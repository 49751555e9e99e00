// What clients hold for a while (bytes of bodies and of answers, watches, connections, places in a queue): one table of bounds, one rule.
// Invariants: no more than `all` is held, but for what cannot be refused any more; whatever others hold, leaders and administrators
// find their part; and twenty greedy identities leave room for the next.
import type { RequestUser } from '../builtin/kind.ts'
import { isProgram } from './lane.ts'

/** Leaders: programs that hold a Lease, and heartbeats. */
export type Share = 'leaders' | 'administrators' | 'others'
export type Held = 'bodyBytes' | 'unreadBytes' | 'watches' | 'connections' | 'waiting'

export interface Bound {
  readonly all: number
  /** The most that one identity of a share holds. */
  readonly each: Readonly<Record<Share, number>>
}

export type Bounds = Readonly<Record<Held, Bound>>

/** Whose it is. */
export interface Holder {
  readonly name: string
  readonly share: Share
}

/** Part of all that only leaders take, and that only leaders and administrators take. */
const FOR_LEADERS = 1 / 16
const FOR_ADMINISTRATORS = 1 / 8

const MOST: Readonly<Record<Share, number>> = {
  leaders: 1,
  administrators: 1 - FOR_LEADERS,
  others: 1 - FOR_LEADERS - FOR_ADMINISTRATORS,
}

export function shareOf({ name, groups }: Pick<RequestUser, 'name' | 'groups'>): Share {
  if (groups.includes('system:masters')) return 'administrators'
  return isProgram(name) ? 'leaders' : 'others'
}

interface Now {
  /** What the identity holds, and all do. */
  readonly own: number
  readonly sum: number
}

/**
 * How much more one identity may take: up to its own bound, of which some 26 fill the share; and when little is left, no more than
 * a quarter of what it leaves, so that the last of it goes to many. Administrators may take all that is left.
 */
export function roomFor({ all, each }: Bound, share: Share, { own, sum }: Now): number {
  const left = all * MOST[share] - sum
  const most = Math.min(left, each[share] - own)
  // own + x <= (left - x) / 4
  return share === 'administrators' ? most : Math.min(most, (left - 4 * own) / 5)
}

interface Count {
  sum: number
  readonly by: Readonly<Record<Share, Map<string, number>>>
}

const none = (): Count => ({ sum: 0, by: { leaders: new Map(), administrators: new Map(), others: new Map() } })

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
  add(what: Held, { name, share }: Holder, amount: number): void {
    const count = this.#counts[what]
    const by = count.by[share]
    count.sum += amount
    by.set(name, (by.get(name) ?? 0) + amount)
  }

  give(what: Held, { name, share }: Holder, amount: number): void {
    const count = this.#counts[what]
    const by = count.by[share]
    const left = (by.get(name) ?? 0) - amount
    count.sum -= amount
    if (left > 0) by.set(name, left)
    else by.delete(name)
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

  #room(what: Held, { name, share }: Holder, most = Number.POSITIVE_INFINITY): number {
    const { sum, by } = this.#counts[what]
    const own = by[share].get(name) ?? 0
    return Math.min(most - own, roomFor(this.#bounds[what], share, { own, sum }))
  }
}
