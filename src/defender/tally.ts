// Counts the units that a policy selects: how many exist, by place, and which are unhealthy. Updated incrementally, so that the cost of a decision
// among ten thousand units depends only on the unhealthy ones.
import { type Unit, isAway } from './unit.ts'

const PLACES = ['zone', 'rack', 'pool', 'stage', 'region'] as const
type Place = (typeof PLACES)[number]

/** A selector that is counted, such as a policy. Compared by identity. */
export interface Selecting {
  selects(unit: Unit): boolean
}

export const EVERYTHING: Selecting = { selects: () => true }

export interface Tally {
  /** Units that serve or served before. */
  readonly total: number
  /** Units that a MachineSet creates and that have not served yet: it wants more machines than serve. */
  readonly coming: number
  /** Units without heartbeats. */
  readonly silent: number
  /** Unhealthy, cordoned by a repair, or with a failed component. */
  readonly troubled: ReadonlySet<Unit>
  countIn(place: Place, domain: string): number
}

class Counts implements Tally {
  total = 0
  coming = 0
  silent = 0
  readonly troubled = new Set<Unit>()
  readonly #places: Readonly<Record<Place, Map<string, number>>> = {
    zone: new Map(),
    rack: new Map(),
    pool: new Map(),
    stage: new Map(),
    region: new Map(),
  }

  countIn(place: Place, domain: string): number {
    return this.#places[place].get(domain) ?? 0
  }

  add(unit: Unit, by: 1 | -1): void {
    if (unit.health === 'NeverServed') {
      if (isMadeBySet(unit)) this.coming += by
      return
    }
    this.total += by
    if (unit.isSilent) this.silent += by
    if (by < 0) this.troubled.delete(unit)
    else if (isAway(unit) || unit.badComponents.size > 0) this.troubled.add(unit)
    for (const place of PLACES) {
      const counts = this.#places[place]
      const count = (counts.get(unit[place]) ?? 0) + by
      if (count === 0) counts.delete(unit[place])
      else counts.set(unit[place], count)
    }
  }
}

/** Hosts that people declare before they join do not count: that may take weeks. */
const isMadeBySet = ({ source: { metadata } }: Unit): boolean =>
  metadata.deletionTimestamp === undefined &&
  (metadata.ownerReferences ?? []).some((o) => o.kind === 'MachineSet' && o.controller === true)

type BySpace = Readonly<Record<Unit['space'], Counts>>

/**
 * Selectors counted at the same time. The ledger's kind allows as many breakers. Beyond that the oldest is dropped, and counted again on its next
 * use.
 */
const MOST_COUNTED = 80

export class Tallies {
  readonly #counted = new Map<Selecting, BySpace>()

  of(selecting: Selecting, space: Unit['space'], units: () => Iterable<Unit>): Tally {
    const known = this.#counted.get(selecting)
    if (known !== undefined) return known[space]
    const counts = countsOf(selecting, units())
    this.#counted.set(selecting, counts)
    const [oldest] = this.#counted.keys()
    if (this.#counted.size > MOST_COUNTED && oldest !== undefined) this.#counted.delete(oldest)
    return counts[space]
  }

  replace(before: Unit | undefined, now: Unit | undefined): void {
    for (const [selecting, counts] of this.#counted) {
      if (before !== undefined && selecting.selects(before)) counts[before.space].add(before, -1)
      if (now !== undefined && selecting.selects(now)) counts[now.space].add(now, 1)
    }
  }
}

function countsOf(selecting: Selecting, units: Iterable<Unit>): BySpace {
  const counts = { machines: new Counts(), clusters: new Counts() }
  for (const unit of units) if (selecting.selects(unit)) counts[unit.space].add(unit, 1)
  return counts
}
