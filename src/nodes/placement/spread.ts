// Which machines a slice takes: untried hardware classes first, then evenly over the domains, the most important domain first. Machines of several
// classes are spread over zones too.
import type { Machine } from '#api/kinds/machine.ts'

export type Domain = 'class' | 'zone' | 'rack' | 'pool'

export interface OfMachine {
  readonly name: string
  readonly machine: Machine
  /** Its hardware class, if more is known than the declared one. */
  readonly class?: string
  /** The result of `placeOf`, if the caller caches it. */
  readonly place?: string | undefined
}

/** The result of `placeText` is enough. */
interface Placed {
  readonly name: string
  readonly place: string
}

export type Spreadable = OfMachine | Placed

const DOMAINS: readonly Domain[] = ['class', 'zone', 'rack', 'pool']

/** All domains of a machine in one string. Thousands of machines share a few hundred of these. */
export const placeOf = ({ spec }: Machine, hardwareClass = spec.class ?? ''): string =>
  placeText({ class: hardwareClass, zone: spec.zone ?? '', rack: spec.rack ?? '', pool: spec.pool ?? '' })

export const placeText = (of: Readonly<Record<Domain, string>>): string => DOMAINS.map((d) => of[d]).join('\n')

/**
 * The first `count` candidates. `tried` has the number of machines per class that tried the version. The order of the candidates does not matter:
 * ties go by name.
 */
export const pickSpread = <T extends Spreadable>(
  candidates: readonly T[],
  count: number,
  domains: readonly Domain[],
  tried: ReadonlyMap<string, number>,
): readonly T[] => pickOrdered(inOrderOfNames(candidates), { count, domains, tried })

export interface Preference<T> {
  readonly count: number
  readonly domains: readonly Domain[]
  readonly tried: ReadonlyMap<string, number>
  /** Zones that have tried the version. The others come first. */
  readonly triedZones?: ReadonlySet<string>
  readonly isTaken?: (candidate: T) => boolean
}

/** The same for candidates sorted by name. */
export function pickOrdered<T extends Spreadable>(
  candidates: readonly T[],
  { count, domains, tried, triedZones = new Set(), isTaken = () => false }: Preference<T>,
): readonly T[] {
  if (count <= 0) return []
  const groups = groupsOf(candidates)
  const out = new Set<T>()
  const isOut = (one: T): boolean => out.has(one) || isTaken(one)
  const counts: Counts = new Map(
    domains.map((d) => [d, new Map(d === 'zone' ? [...triedZones].map((zone) => [zone, 1]) : [])]),
  )
  const all = new Branch('', groups, domains)
  const add = (one: T): Place => {
    out.add(one)
    const place = placeIn(one).split('\n')
    for (const [domain, by] of counts) {
      const value = place[DOMAINS.indexOf(domain)] ?? ''
      by.set(value, (by.get(value) ?? 0) + 1)
    }
    return place
  }
  // Untried classes come first, one machine each, so that a small step still reaches new hardware.
  const fresh = groups.filter(({ domains: [cls = ''] }) => (tried.get(cls) ?? 0) === 0)
  const within = domains.filter((d) => d !== 'class')
  for (const [, ofClass] of Map.groupBy(fresh, ({ domains: [cls = ''] }) => cls)) {
    const one = out.size === count ? undefined : new Branch('', ofClass, within).take(isOut, counts)
    if (one !== undefined) all.note(add(one))
  }
  for (let one = all.take(isOut, counts); out.size < count && one !== undefined; one = all.take(isOut, counts)) add(one)
  return [...out]
}

/** Most lists are already sorted, and checking is cheaper than sorting thousands again. */
export function inOrderOfNames<T extends { readonly name: string }>(list: readonly T[]): readonly T[] {
  const isSorted = list.every((m, i) => i === 0 || (list[i - 1]?.name ?? '') <= m.name)
  return isSorted ? list : list.toSorted(byName)
}

interface Group<T> {
  readonly domains: readonly string[]
  readonly members: T[]
}

const byName = (a: { readonly name: string } | undefined, b: { readonly name: string } | undefined): number =>
  (a?.name ?? '') < (b?.name ?? '') ? -1 : (a?.name ?? '') > (b?.name ?? '') ? 1 : 0

const placeIn = (candidate: Spreadable): string =>
  'machine' in candidate ? (candidate.place ?? placeOf(candidate.machine, candidate.class)) : candidate.place

/** Groups the machines by place, sorted by domain. */
function groupsOf<T extends Spreadable>(candidates: readonly T[]): readonly Group<T>[] {
  const groups = new Map<string, T[]>()
  for (const candidate of candidates) {
    const place = placeIn(candidate)
    const group = groups.get(place)
    if (group === undefined) groups.set(place, [candidate])
    else group.push(candidate)
  }
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, members]) => ({ domains: place.split('\n'), members }))
}

/** Machines of one place, or of all places that differ only in domains that do not matter. */
class Branch<T extends Spreadable> {
  readonly value: string
  taken = 0
  readonly #domain: Domain | undefined
  readonly #rest: readonly Domain[]
  #groups: readonly Group<T>[]
  #children: Branch<T>[] | undefined
  #members: Iterator<T> | undefined

  constructor(value: string, groups: readonly Group<T>[], [domain, ...rest]: readonly Domain[]) {
    this.value = value
    this.#groups = groups
    this.#domain = domain
    this.#rest = rest
  }

  /** The next of the child with the fewest taken. Between equals, the one whose value was taken least anywhere: so classes do not all begin in one zone. */
  take(isOut: (candidate: T) => boolean, counts: Counts): T | undefined {
    const domain = this.#domain
    if (domain === undefined) return this.#nextMember(isOut)
    const count = (branch: Branch<T>): number => counts.get(domain)?.get(branch.value) ?? 0
    const children = this.#split(domain)
    while (children.length > 0) {
      const best = children.reduce((a, b) =>
        b.taken < a.taken || (b.taken === a.taken && count(b) < count(a)) ? b : a,
      )
      const one = best.take(isOut, counts)
      if (one !== undefined) {
        best.taken++
        return one
      }
      children.splice(children.indexOf(best), 1)
    }
    return undefined
  }

  /** One of these values was taken otherwise. */
  note(values: Place): void {
    this.taken++
    const domain = this.#domain
    if (domain === undefined) return
    this.#split(domain)
      .find((c) => c.value === values[DOMAINS.indexOf(domain)])
      ?.note(values)
  }

  #split(domain: Domain): Branch<T>[] {
    this.#children ??= [...Map.groupBy(this.#groups, (g) => g.domains[DOMAINS.indexOf(domain)] ?? '')].map(
      ([value, groups]) => new Branch(value, groups, this.#rest),
    )
    this.#groups = []
    return this.#children
  }

  #nextMember(isOut: (candidate: T) => boolean): T | undefined {
    this.#members ??= inOrderOfNames(this.#groups.flatMap((g) => g.members)).values()
    for (let next = this.#members.next(); next.done !== true; next = this.#members.next())
      if (!isOut(next.value)) return next.value
    return undefined
  }
}

type Place = readonly string[]
/** How many were taken of each value of each domain, in all branches. */
type Counts = ReadonlyMap<Domain, Map<string, number>>
