// How many of the other nodes of a cluster, zone, rack, pool or cohort have a condition. A silent node may have it: it counts as unknown.
import { assertNever } from '#lib/errors.ts'
import { setOwn } from '#lib/json.ts'
import type { Facts } from '#policy/reading.ts'
import type { Tally } from '#policy/tally.ts'
import type { NodeView } from './node-view.ts'

const GROUPS = ['cluster', 'zone', 'rack', 'pool', 'cohort'] as const
type Group = (typeof GROUPS)[number]

interface Count {
  total: number
  silent: number
  readonly true: Map<string, number>
}

export class Peers {
  readonly #counts = new Map<string, Count>()
  readonly #types = new Set<string>()

  constructor(views: readonly NodeView[]) {
    for (const view of views)
      for (const group of GROUPS) {
        const key = keyOf(view, group)
        const count = this.#counts.get(key) ?? { total: 0, silent: 0, true: new Map<string, number>() }
        this.#counts.set(key, count)
        count.total++
        if (view.standing.kind === 'Silent') count.silent++
        else for (const type of trueTypes(view)) count.true.set(type, (count.true.get(type) ?? 0) + 1)
        for (const type of typesOf(view)) this.#types.add(type)
      }
  }

  /** Without the node itself. */
  of(view: NodeView): Facts {
    const own = new Set(trueTypes(view))
    const isSilent = view.standing.kind === 'Silent'
    const groups = {}
    for (const group of GROUPS) {
      const {
        total,
        silent,
        true: counts,
      } = this.#counts.get(keyOf(view, group)) ?? { total: 1, silent: 0, true: new Map<string, number>() }
      const tallies = {}
      for (const type of this.#types) {
        const tally: Tally = {
          total: total - 1,
          unknown: silent - (isSilent ? 1 : 0),
          count: (counts.get(type) ?? 0) - (!isSilent && own.has(type) ? 1 : 0),
        }
        setOwn(tallies, type, tally)
      }
      setOwn(groups, group, tallies)
    }
    return groups
  }
}

const conditionsOf = ({ node }: NodeView) => node.status?.conditions ?? []
const typesOf = (view: NodeView): readonly string[] => conditionsOf(view).map((c) => c.type)
const trueTypes = (view: NodeView): readonly string[] =>
  conditionsOf(view).flatMap((c) => (c.status === 'True' ? c.type : []))

function keyOf({ machine }: NodeView, group: Group): string {
  switch (group) {
    case 'cluster':
      return 'cluster'
    case 'cohort': {
      const components = machine?.status?.components ?? []
      return `cohort\n${components
        .map((c) => `${c.name} ${c.version ?? ''}`)
        .toSorted()
        .join('\n')}`
    }
    case 'zone':
    case 'rack':
    case 'pool':
      return `${group}\n${machine?.spec[group] ?? ''}`
    default:
      return assertNever(group)
  }
}
