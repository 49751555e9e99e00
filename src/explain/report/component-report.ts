// The report on components: on how many nodes each runs, which nodes lack it or are in no set, and how equal those are that have it. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import { componentsIn, type ReportFacts } from './facts.ts'
import { type Cell, count, countsOf, limited, percent, percentText, type Section, share, word } from './report.ts'

/** Names in a cell; the others are counted. */
const MOST_NAMES = 10

function names(list: readonly string[]): Cell {
  const more = list.length - MOST_NAMES
  return word(`${list.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`)
}

const has = ({ status }: Machine, component: string): boolean =>
  status?.components?.some((c) => c.name === component && c.version !== undefined) === true

/** A set whose selector cannot be read selects nothing. */
function isIn(machine: Machine, { spec }: MachineComponentSet): boolean {
  try {
    return matchesSelector(selectorOf(spec.selector), machine.metadata.labels ?? {})
  } catch {
    return false
  }
}

export const outsideSets = ({ machines, sets, parts }: ReportFacts): readonly Machine[] =>
  parts?.flatMap(outsideSets) ?? machines.filter((m) => !sets.some((set) => isIn(m, set)))

/** Nodes of which KubeNode knows nothing: no Machine has them. */
export function unmanaged({ nodes, machines }: ReportFacts): readonly string[] {
  const managed = new Set(machines.map((m) => m.status?.nodeRef?.name))
  return nodes.map(nameOf).filter((name) => !managed.has(name))
}

function coverageSection(facts: ReportFacts, components: readonly string[]): Section {
  const { machines, sets } = facts
  const columns = ['component', 'machines', 'of all', 'missing where a set declares it', 'machines without it']
  const each = components.map((component) => {
    const without = machines.filter((m) => !has(m, component))
    const declaring = sets.filter((s) => s.spec.components.some((c) => c.name === component))
    const missing = without.filter((m) => declaring.some((s) => isIn(m, s)))
    return { component, without, missing, covered: share(machines.length - without.length, machines.length) }
  })
  return {
    title: 'Coverage',
    kind: 'MachineComponentSet',
    about: 'Which machines have a version of each component, and which have none.',
    columns,
    rows: limited(
      each.map(({ component, without, missing, covered }) => [
        word(component),
        count(machines.length - without.length),
        percent(covered),
        count(missing.length),
        names(without.map(nameOf)),
      ]),
      columns.length,
    ),
    chart: {
      form: 'rows',
      title: 'Share of machines that have it',
      most: 1,
      bars: each.map(({ component, covered }) => ({
        label: component,
        value: covered,
        text: covered === undefined ? 'no machines' : percentText(covered),
      })),
    },
  }
}

function outsideSection(facts: ReportFacts): Section {
  const [outside, foreign] = [outsideSets(facts).map(nameOf), unmanaged(facts)]
  return {
    title: 'Outside of every set',
    kind: 'Machine',
    about: 'No commit decides what runs there.',
    columns: ['what', 'number', 'names'],
    rows: [
      [word('machines that no set selects'), count(outside.length), names(outside)],
      [word('nodes without a Machine'), count(foreign.length), names(foreign)],
    ],
  }
}

function consistencySection({ machines }: ReportFacts, components: readonly string[]): Section {
  const columns = ['component', 'version', 'machines', 'healthy', 'modified', 'contents']
  const rows = components.flatMap((component) => {
    const all = machines.flatMap((m) => (m.status?.components ?? []).filter((c) => c.name === component))
    return countsOf(all, (c) => c.version ?? 'none').map(([version, n]) => {
      const own = all.filter((c) => (c.version ?? 'none') === version)
      const digests = new Set(own.flatMap((c) => c.digest ?? []))
      return [
        word(component),
        word(version),
        count(n),
        count(own.filter((c) => c.state === 'Healthy').length),
        count(own.filter((c) => c.drifted !== undefined).length),
        // No agent reported one, for instance because nothing is installed.
        digests.size === 0 ? word('not reported') : count(digests.size),
      ]
    })
  })
  return {
    title: 'Consistency',
    kind: 'MachineComponentSet',
    about:
      'Versions side by side. One content for each version is what a commit declares; more means that configurations or files differ.',
    columns,
    rows: limited(rows, columns.length),
  }
}

export function componentSections(facts: ReportFacts, only: string | undefined): readonly Section[] {
  const components = only === undefined ? [...componentsIn(facts)].toSorted() : [only]
  return [coverageSection(facts, components), outsideSection(facts), consistencySection(facts, components)]
}

/** Orders that are carried out, of all orders. */
export function componentHeadline({ machines, sets }: ReportFacts): {
  readonly text: string
  readonly value: number | null
} {
  const wanted = machines.flatMap((m) =>
    sets.filter((s) => isIn(m, s)).flatMap((s) => s.spec.components.map((c) => has(m, c.name))),
  )
  const value = share(wanted.filter(Boolean).length, wanted.length)
  return value === undefined
    ? { text: 'no set declares a component for a machine', value: null }
    : { text: `${percentText(value)} of ${wanted.length} declared components are on their machines`, value }
}
