// Which machines a slice takes: hardware classes that were never tried first, then evenly over the domains, the most important first.
import type { Machine } from '#api/kinds/machine.ts'

export type Domain = 'class' | 'zone' | 'rack' | 'pool'

export interface Spreadable {
  readonly name: string
  readonly machine: Machine
  /** Its hardware class, where more is known of it than what is declared. */
  readonly class?: string
}

const domainOf = (candidate: Spreadable, domain: Domain): string =>
  (domain === 'class' ? candidate.class : undefined) ?? candidate.machine.spec[domain] ?? ''

/**
 * The first `count` of the candidates. `tried` says on how many machines of a class the version was tried. The order of the
 * candidates does not matter: among equals the name decides.
 */
export function pickSpread<T extends Spreadable>(
  candidates: readonly T[],
  count: number,
  domains: readonly Domain[],
  tried: ReadonlyMap<string, number>,
): readonly T[] {
  if (count <= 0) return []
  const byName = inOrderOfNames(candidates)
  const classes = groupsOf(byName, 'class')
  // Classes never tried come first, one machine each, so that a small step still meets new hardware.
  const fresh = [...classes.keys()].filter((c) => (tried.get(c) ?? 0) === 0)
  const first = fresh.flatMap((c) => classes.get(c)?.slice(0, 1) ?? []).slice(0, count)
  if (first.length === count) return first
  const out = new Set<T>(first)
  for (const machine of inTurns(byName, domains)) {
    if (out.size === count) break
    out.add(machine)
  }
  return [...out]
}

/** Most lists are in order already: looking is cheaper than sorting thousands again. */
export function inOrderOfNames<T extends { readonly name: string }>(list: readonly T[]): readonly T[] {
  const isSorted = list.every((m, i) => i === 0 || (list[i - 1]?.name ?? '') <= m.name)
  return isSorted ? list : list.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

function groupsOf<T extends Spreadable>(machines: readonly T[], domain: Domain): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const machine of machines) {
    const key = domainOf(machine, domain)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [machine])
    else group.push(machine)
  }
  return new Map([...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** From each domain in turn, and within it from the next kind of domain in turn; no further than somebody asks. */
function* inTurns<T extends Spreadable>(machines: readonly T[], domains: readonly Domain[]): Generator<T> {
  const [domain, ...rest] = domains
  if (domain === undefined || machines.length <= 1) {
    yield* machines
    return
  }
  let queues = [...groupsOf(machines, domain).values()].map((group) => inTurns(group, rest))
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
