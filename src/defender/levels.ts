// Counts the units that are unavailable or being disrupted at the same time, per domain, for budgets and health floors. A unit counts once, however
// many permits, Nodes and failures it has.
import { CLUSTER_DOMAINS, type DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { FleetView } from './fleet.ts'
import type { Grant, Reservation } from './ledger.ts'
import { asGrant } from './reservations.ts'
import { EVERYTHING } from './tally.ts'
import { type Unit, isAway } from './unit.ts'
import { defenderErrors } from './defender-errors.ts'

export type Budget = NonNullable<DefenderPolicySpec['budgets']>[number]
export type Per = Budget['per']

/** The domain of a unit, or the permit's component if that is the domain. Undefined if there is nothing to count. */
export function domainOf(
  per: Per,
  unit: Pick<Unit, 'space' | 'zone' | 'rack' | 'pool' | 'stage' | 'region'>,
  component: string | undefined,
): string | undefined {
  if (per === 'cluster') return ''
  if (per === 'component') return component
  // Machines are in none of them. Clusters without a region count as one region: they may really share one.
  if (isOfClusters(per)) return unit.space !== 'clusters' ? undefined : per === 'hub' ? '' : unit[per]
  // Machines without a rack count as one rack: they may really share one.
  return unit[per]
}

const OF_CLUSTERS: ReadonlySet<string> = new Set(CLUSTER_DOMAINS)
const isOfClusters = (per: Per): per is (typeof CLUSTER_DOMAINS)[number] => OF_CLUSTERS.has(per)

/** A percentage rounds down, but to at least one unless it is 0%: otherwise a fleet of five could never change. */
export function budgetLimit(max: Budget['max'], total: number): number {
  if (typeof max === 'number') return max
  const share = percentOf(max)
  return share === 0 ? 0 : Math.max(1, Math.floor((share * total) / 100))
}

/** The base of a floor: units that serve or served before, and units of a MachineSet that have not served yet. */
export interface FloorGround {
  readonly total: number
  readonly coming: number
}

/**
 * How many must stay healthy. A percentage rounds up, the safe side. But below 100% it leaves room for one if everything desired serves: otherwise
 * three machines under 80% could never change. While a MachineSet replaces a machine there is no such room, because the total lacks the machine that
 * left. Plain numbers and 100% apply as written.
 */
export function floorLimit(floor: Budget['max'], { total, coming }: FloorGround): number {
  if (typeof floor === 'number') return floor
  const share = percentOf(floor)
  const limit = Math.ceil((share * total) / 100)
  return share < 100 && coming === 0 ? Math.min(limit, Math.max(0, total - 1)) : limit
}

/** Whether the floor blocks every serving unit even if everything is healthy. */
export const neverHasRoom = (floor: Budget['max'], total: number): boolean =>
  floorLimit(floor, { total, coming: 0 }) >= Math.max(1, total)

function percentOf(text: string): number {
  const share = Number(/^(\d{1,3})%$/.exec(text)?.[1])
  if (share >= 0 && share <= 100) return share
  throw new KubeNodeError(defenderErrors.KN10010({ text: JSON.stringify(text) }))
}

export interface Silence {
  readonly silent: number
  readonly total: number
}

/** Counts for one fleet and one ledger during one decision. */
export class Levels {
  readonly #fleet: FleetView
  readonly #sets = new Map<string, Map<string, Set<string>>>()
  readonly #grants: readonly Grant[]
  /** The same without reservations: only what is unavailable or granted now. The same object if there are no reservations. */
  readonly now: Levels

  constructor(fleet: FleetView, grants: readonly Grant[], booked: readonly Grant[] = []) {
    this.#fleet = fleet
    this.#grants = [...grants, ...booked]
    this.now = booked.length === 0 ? this : new Levels(fleet, grants)
  }

  /** Machines whose work has started are unavailable. The rest are only reserved. */
  static booked(fleet: FleetView, grants: readonly Grant[], reservations: readonly Reservation[]): Levels {
    const begun = reservations.filter((r) => r.notBefore === undefined)
    const ahead = reservations.filter((r) => r.notBefore !== undefined)
    return new Levels(fleet, [...grants, ...begun.map(asGrant)], ahead.map(asGrant))
  }

  /** How many units the policy selects, and how many of them are still being created. */
  members(policy: CompiledPolicy, space: Unit['space']): FloorGround {
    return this.#fleet.tally(policy, space)
  }

  /** Silent units of the whole space: a policy's selector does not make a network smaller. */
  silence(space: Unit['space']): Silence {
    return this.#fleet.tally(EVERYTHING, space)
  }

  /** Units in the domain. For a component: all units, since each may have it. */
  total(policy: CompiledPolicy, per: Per, space: Unit['space'], domain: string): number {
    const tally = this.#fleet.tally(policy, space)
    return per === 'cluster' || per === 'component' || per === 'hub' ? tally.total : tally.countIn(per, domain)
  }

  /** The units that currently count in this budget. */
  set(policy: CompiledPolicy, of: Budget['of'], per: Per, space: Unit['space'], domain: string): Set<string> {
    const key = `${policy.name}\n${space}\n${of}\n${per}`
    let byDomain = this.#sets.get(key)
    if (byDomain === undefined) {
      byDomain = this.#count(policy, of, per, space)
      this.#sets.set(key, byDomain)
    }
    let set = byDomain.get(domain)
    if (set === undefined) {
      set = this.#firstOf(policy, of, per, space, domain)
      byDomain.set(domain, set)
    }
    return set
  }

  /** Failed components are not tracked per unit in advance: an unavailable unit counts as unavailable for each of its components. */
  #firstOf(policy: CompiledPolicy, of: Budget['of'], per: Per, space: Unit['space'], domain: string): Set<string> {
    const set = new Set<string>()
    if (per === 'component' && of === 'unavailable') this.#addDown(set, policy, space, domain)
    return set
  }

  #count(policy: CompiledPolicy, of: Budget['of'], per: Per, space: Unit['space']): Map<string, Set<string>> {
    const byDomain = new Map<string, Set<string>>()
    const at = (domain: string): Set<string> => {
      let set = byDomain.get(domain)
      if (set === undefined) {
        set = this.#firstOf(policy, of, per, space, domain)
        byDomain.set(domain, set)
      }
      return set
    }
    if (of === 'unavailable' && per !== 'component')
      for (const u of this.#fleet.tally(policy, space).troubled) {
        const domain = domainOf(per, u, undefined)
        if (domain !== undefined && isAway(u)) at(domain).add(u.id)
      }
    for (const grant of this.#grants) {
      if (grant.exempt !== undefined || spaceOf(grant) !== space) continue
      if (of === 'concurrent' && !policy.decides(grant.operations)) continue
      if (of === 'unavailable' && !takesAvailability(grant.operations)) continue
      const unit = this.unitOf(grant)
      // A target that is no longer visible may be one of these.
      if (unit !== undefined && !policy.selects(unit)) continue
      if (of === 'unavailable' && unit?.health === 'NeverServed') continue
      const { zone = '', rack = '', pool = '', stage = '', region = '' } = grant
      const domain = domainOf(per, unit ?? { space, zone, rack, pool, stage, region }, grant.component)
      if (domain !== undefined) at(domain).add(unit?.id ?? grant.target)
    }
    return byDomain
  }

  #addDown(set: Set<string>, policy: CompiledPolicy, space: Unit['space'], component: string): void {
    for (const u of this.#fleet.tally(policy, space).troubled)
      if (u.badComponents.has(component) || (isAway(u) && u.badComponents.size === 0)) set.add(u.id)
  }

  /** How many of these serve, and count only because a repair keeps them cordoned: they wait for a person. */
  keptOut(policy: CompiledPolicy, space: Unit['space'], ids: ReadonlySet<string>): number {
    const { troubled } = this.#fleet.tally(policy, space)
    return [...troubled].filter((u) => u.health === 'Healthy' && u.isKeptOut === true && ids.has(u.id)).length
  }

  /** The name of an unavailable unit, without scanning the fleet. */
  nameOf(id: string, policy: CompiledPolicy, space: Unit['space']): string {
    for (const unit of this.#fleet.tally(policy, space).troubled) if (unit.id === id) return unit.name
    return this.#grants.find((g) => (this.unitOf(g)?.id ?? g.target) === id)?.name ?? id
  }

  unitOf(grant: Grant): Unit | undefined {
    const found = this.#fleet.find({
      kind: grant.kind,
      name: grant.name,
      uid: grant.target,
      ...defined({ namespace: grant.namespace }),
    })
    return found.kind === 'Found' ? found.unit : undefined
  }

  /** A slot was taken. It counts from now on, within the same decision. */
  take(policies: readonly CompiledPolicy[], grant: Grant, unit: Unit): void {
    if (grant.exempt !== undefined) return
    if (this.now !== this) this.now.take(policies, grant, unit)
    for (const policy of policies)
      for (const { of, per } of countedOf(policy)) {
        if (!policy.selects(unit) || (of === 'concurrent' && !policy.decides(grant.operations))) continue
        if (of === 'unavailable' && (unit.health === 'NeverServed' || !takesAvailability(grant.operations))) continue
        const domain = domainOf(per, unit, grant.component)
        if (domain !== undefined) this.set(policy, of, per, unit.space, domain).add(unit.id)
      }
  }
}

/** The levels that a policy counts: its budgets, and for its floor everything unavailable. */
const countedOf = ({ spec }: CompiledPolicy): readonly Pick<Budget, 'of' | 'per'>[] => [
  ...(spec.budgets ?? []),
  ...(spec.healthFloor === undefined ? [] : [{ of: 'unavailable', per: 'cluster' } as const]),
]

const spaceOf = ({ kind }: Pick<Grant, 'kind'>): Unit['space'] => (kind === 'Cluster' ? 'clusters' : 'machines')
