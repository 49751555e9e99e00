// Which machines a slice takes: untried hardware classes first, then evenly over the domains, the most important domain first.
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
  readonly isTaken?: (candidate: T) => boolean
}

/** The same for candidates sorted by name. */
export function pickOrdered<T extends Spreadable>(
  candidates: readonly T[],
  { count, domains, tried, isTaken = () => false }: Preference<T>,
): readonly T[] {
  if (count <= 0) return []
  const groups = groupsOf(candidates)
  const out = new Set<T>()
  // Untried classes come first, one machine each, so that a small step still reaches new hardware.
  for (const one of freshOf(groups, tried, isTaken)) {
    if (out.size === count) break
    out.add(one)
  }
  for (const one of inTurns(groups, domains)) {
    if (out.size === count) break
    if (!isTaken(one)) out.add(one)
  }
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

/** One machine of each untried class, the first by name. */
function freshOf<T extends Spreadable>(
  groups: readonly Group<T>[],
  tried: ReadonlyMap<string, number>,
  isTaken: (candidate: T) => boolean,
): Iterable<T> {
  const first = new Map<string, T>()
  for (const { domains, members } of groups) {
    const [cls = ''] = domains
    if ((tried.get(cls) ?? 0) > 0) continue
    const head = members.find((m) => !isTaken(m))
    const best = first.get(cls)
    if (head !== undefined && (best === undefined || byName(head, best) < 0)) first.set(cls, head)
  }
  return first.values()
}

/** Takes from each domain in turn, and within it from the next kind of domain in turn. Lazy: only as far as requested. */
function* inTurns<T extends Spreadable>(groups: readonly Group<T>[], domains: readonly Domain[]): Generator<T> {
  const [domain, ...rest] = domains
  const [only, ...others] = groups
  if (only === undefined) return
  if (domain === undefined || others.length === 0) {
    yield* others.length === 0 ? only.members : inOrderOfNames(groups.flatMap((g) => g.members))
    return
  }
  const at = DOMAINS.indexOf(domain)
  const parts = Map.groupBy(groups, (g) => g.domains[at] ?? '')
  let queues = [...parts.values()].map((part) => inTurns(part, rest))
  while (queues.length > 0) {
    const left: Generator<T>[] = []
    for (const queue of queues) {
      const next = queue.next()
      if (next.done === true) continue
      yield next.value
      left.push(queue)
    }
    queues = left
  }
}
