// Replaces a timestamp in the future by the time when it was first observed. Otherwise a clock that was set back, or a node whose clock is ahead,
// would keep a fault "not yet true" for hours. The fault has been true since it was observed.
import { timestamp } from '#lib/clock.ts'
import { isObject, setOwn } from '#lib/json.ts'
import { type Facts, instantMs } from '#policy/reading.ts'

/** Nodes with such timestamps. Beyond that the oldest is dropped, and its timestamps count from their next observation. */
const MOST_NODES = 20_000

/** The field with the start time, for each entry of a fact. */
const SINCE = { conditions: 'lastTransitionTime', components: 'since' } as const

/** A condition, as in the list of which facts were made. */
interface Stamped {
  readonly lastTransitionTime?: unknown
}

type Conditions = readonly (Stamped & { readonly type: string; readonly status: string })[]

/** Reports take a while, and clocks differ a little everywhere. */
const MOST_BEHIND_MS = 60_000

interface Settled {
  readonly stamp: string
  readonly since: string
}

export class FutureStamps {
  readonly #seen = new Map<string, ReadonlyMap<string, Settled>>()

  /**
   * Returns the same facts if none is in the future. `conditions`: the list of which those of the facts were made, which tells faster than they do that none
   * of them is.
   */
  settle(uid: string, facts: Facts, now: number, conditions?: readonly Stamped[]): Facts {
    const known = this.#seen.get(uid)
    const latest = timestamp(now)
    const listed = known === undefined && conditions !== undefined && !hasLater(conditions, latest) ? REST : BOTH
    const found = new Map<string, Settled>()
    const check = (place: string, stamp: unknown): void => {
      if (typeof stamp !== 'string') return
      const before = known?.get(place)
      // The timestamp itself is still not trusted: the clock may only have caught up with it.
      if (before?.stamp === stamp) found.set(place, isLater(before.since, now) ? { stamp, since: latest } : before)
      else if (stamp > latest && isLater(stamp, now)) found.set(place, { stamp, since: latest })
    }
    // Runs for each change of each node: no lists, and no names unless there is something to look up.
    for (const fact of listed) {
      const things = facts[fact]
      if (!isObject(things)) continue
      for (const name of Object.keys(things)) {
        const thing = things[name]
        const stamp = isObject(thing) ? thing[SINCE[fact]] : undefined
        if (known !== undefined || (typeof stamp === 'string' && stamp > latest)) check(`${fact}/${name}`, stamp)
      }
    }
    const machine = isObject(facts['machine']) ? facts['machine'] : undefined
    check('machine', machine?.['agentReachableSince'])
    if (known !== undefined) this.#seen.delete(uid)
    if (found.size === 0) return facts
    this.#remember(uid, found)
    return withStamps(facts, found)
  }

  /**
   * `was` is what was observed at a time. A condition that has another status since cannot have changed long before: the clock of its writer is behind, and the
   * fault would count as old the moment that it appears.
   */
  correct(uid: string, was: Conditions | undefined, is: Conditions | undefined, at: number): void {
    if (was === undefined || is === undefined || was === is) return
    const late: [string, Settled][] = []
    for (const [n, condition] of is.entries()) {
      const { type, status, lastTransitionTime: stamp } = condition
      if (condition === was[n] || typeof stamp !== 'string') continue
      const before = was[n]?.type === type ? was[n] : was.find((c) => c.type === type)
      if (before === undefined || before.status === status || !((instantMs(stamp) ?? at) < at - MOST_BEHIND_MS))
        continue
      late.push([`conditions/${type}`, { stamp, since: timestamp(at) }])
    }
    if (late.length > 0) this.#remember(uid, new Map([...(this.#seen.get(uid) ?? []), ...late]))
  }

  /** Whether a timestamp of the node was replaced when it was last seen. */
  hasSettled(uid: string): boolean {
    return this.#seen.has(uid)
  }

  #remember(uid: string, found: ReadonlyMap<string, Settled>): void {
    this.#seen.set(uid, found)
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > MOST_NODES && oldest !== undefined) this.#seen.delete(oldest)
  }
}

const BOTH = ['conditions', 'components'] as const
const REST = ['components'] as const

function hasLater(conditions: readonly Stamped[], latest: string): boolean {
  for (const { lastTransitionTime: stamp } of conditions) if (typeof stamp === 'string' && stamp > latest) return true
  return false
}

const isLater = (stamp: string, now: number): boolean => (instantMs(stamp) ?? 0) > now

function withStamps(facts: Facts, found: ReadonlyMap<string, Settled>): Facts {
  const settled: Record<string, unknown> = { ...facts }
  for (const fact of ['conditions', 'components'] as const) {
    if (!isObject(facts[fact])) continue
    const things: Record<string, unknown> = {}
    for (const [name, thing] of Object.entries(facts[fact])) {
      const since = found.get(`${fact}/${name}`)?.since
      setOwn(things, name, since !== undefined && isObject(thing) ? { ...thing, [SINCE[fact]]: since } : thing)
    }
    settled[fact] = things
  }
  const reachable = found.get('machine')?.since
  if (reachable !== undefined && isObject(facts['machine']))
    settled['machine'] = { ...facts['machine'], agentReachableSince: reachable }
  return settled
}
