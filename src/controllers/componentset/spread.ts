// Which machines a slice takes: hardware classes that were never tried first, then evenly over the domains, the most important first.
import type { Machine } from '#api/kinds/machine.ts'

export type Domain = 'class' | 'zone' | 'rack' | 'pool'

export interface Spreadable {
  readonly name: string
  readonly machine: Machine
}

const domainOf = ({ machine }: Spreadable, domain: Domain): string => machine.spec[domain] ?? ''

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
  const byName = candidates.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const classes = groupsOf(byName, 'class')
  // Classes never tried come first, one machine each, so that a small step still meets new hardware.
  const fresh = [...classes.keys()].filter((c) => (tried.get(c) ?? 0) === 0)
  const first = fresh.flatMap((c) => classes.get(c)?.slice(0, 1) ?? []).slice(0, count)
  if (first.length === count) return first
  const taken = new Set<T>(first)
  return [
    ...first,
    ...interleaved(
      byName.filter((m) => !taken.has(m)),
      domains,
      count - first.length,
    ),
  ]
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

/** Takes from each domain in turn, and within it from the next kind of domain in turn. */
function interleaved<T extends Spreadable>(
  machines: readonly T[],
  domains: readonly Domain[],
  count: number,
): readonly T[] {
  const [domain, ...rest] = domains
  if (domain === undefined || machines.length <= 1) return machines.slice(0, count)
  const groups = [...groupsOf(machines, domain).values()]
  if (groups.length === 1) return interleaved(machines, rest, count)
  const queues = groups.map((group) => interleaved(group, rest, count))
  const out: T[] = []
  for (let round = 0; out.length < count; round++) {
    const before = out.length
    for (const queue of queues) {
      const next = queue[round]
      if (next !== undefined && out.length < count) out.push(next)
    }
    if (out.length === before) break
  }
  return out
}
