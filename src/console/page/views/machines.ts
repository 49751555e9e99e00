// The machines of one or all clusters: few as cards, up to 10,000 as a heat map, all as a table; some can be picked and held.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { clustersWith, useApp, useTopics } from '../app.ts'
import type { App } from '../app.ts'
import { AsTable, Choice, Page } from '../frame.ts'
import { COLORINGS, GROUPINGS, LABEL, componentsOf, labelsOf } from '../heat/colors.ts'
import type { Coloring, Grouping } from '../heat/colors.ts'
import { HeatMap } from '../heat/heat-map.ts'
import { Legend } from '../heat/legend.ts'
import { machineAt, machinesOf, rememberedOrder } from '../heat/machines.ts'
import type { Machine, Machines as Cells, Wanted } from '../heat/machines.ts'
import type { MachinesTopic } from '../../protocol.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { Pairs } from '../parts/pairs.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { count } from '../parts/time.ts'
import { hrefOf, to, withParams } from '../router.ts'
import { MOST_CARDS, MachineCards, allOf } from './machine-cards.ts'
import { Picked } from '../parts/picked.ts'

const isColoring = (text: string): text is Coloring => Object.hasOwn(COLORINGS, text)
const isGrouping = (text: string): text is Grouping => Object.hasOwn(GROUPINGS, text) || text.startsWith(LABEL)

export function MachinesView(): VNode {
  const app = useApp()
  const { session, route } = app
  const allowed = clustersWith(session, 'machines').map(({ name }) => name)
  const clusters = route.cluster === undefined ? allowed : [route.cluster]
  const loaded = useTopics<MachinesTopic>(clusters.map((name) => topicOf('machines', name)))
  const topics = loaded.flatMap((l) => (l.state === 'Ready' ? [l.value] : []))
  const orderOf = useRef(rememberedOrder()).current
  const components = componentsOf(topics)
  const wanted = wantedBy(app, components, clusters.length > 1)
  const cells = useMemo(() => machinesOf(topics, wanted, orderOf), [...topics, topics.length, JSON.stringify(wanted)])
  const first = loaded.find(({ state }) => state !== 'Ready')
  const isTable = route.params['as'] === 'table'
  const canBeCards = cells.shown <= MOST_CARDS
  const isCards = canBeCards && route.params['draw'] !== 'map'
  const shownMachines = isTable || !canBeCards ? [] : allOf(cells)
  const clear = withParams(route, { only: '', in: '', q: '', page: '' })
  return h(
    Page,
    {
      title: route.cluster === undefined ? 'Machines' : `Machines of ${route.cluster}`,
      sentence: topics.length > 0 && h(Sentence, { cells, wanted, href: hrefOf(clear) }),
      scope: { family: 'machines', cluster: route.cluster, all: true },
      tools: [
        h(Choice, { label: 'Color', name: 'color', value: wanted.coloring, options: COLORINGS }),
        (wanted.coloring === 'version' || wanted.grouping === 'version') &&
          h(Choice, {
            label: 'Component',
            name: 'component',
            value: wanted.component,
            options: Object.fromEntries(components.map((c) => [c, c])),
          }),
        h(Choice, { label: 'Group', name: 'group', value: wanted.grouping, options: groupings(labelsOf(topics)) }),
        h(NameFilter, { text: wanted.text }),
        canBeCards &&
          !isTable &&
          h(
            'a',
            { href: hrefOf(withParams(route, { draw: isCards ? 'map' : '' })) },
            isCards ? 'As a heat map' : 'As cards',
          ),
        h(AsTable, {}),
      ],
      commands:
        clusters.length === 1
          ? [`kubenode get machines -o wide --context ${word(clusters[0] ?? '')}`]
          : clusters.map((name) => `kubenode get machines -o wide --context ${word(name)}`).slice(0, MOST_COMMANDS),
    },
    topics.length === 0 && first !== undefined
      ? shown(first, () => null)
      : cells.total === 0
        ? h(
            Notice,
            { title: 'No machines' },
            'A commit that declares a MachineSet creates them; kubenode import observes existing Nodes.',
          )
        : isTable
          ? h(MachineTable, { cells, isMany: clusters.length > 1 })
          : h(
              'div',
              { class: 'map' },
              h(Legend, { cells, wanted }),
              h(Picked, { shown: shownMachines }),
              isCards
                ? h(MachineCards, { cells, wanted, isMany: clusters.length > 1 })
                : h(HeatMap, { cells, wanted, isMany: clusters.length > 1 }),
            ),
  )
}

const groupings = (labels: readonly string[]): Readonly<Record<string, string>> => ({
  ...GROUPINGS,
  ...Object.fromEntries(labels.map((label) => [`${LABEL}${label}`, `Label ${label}`])),
})

/** More lines do not help. */
const MOST_COMMANDS = 5

function wantedBy({ route: { params } }: App, components: readonly string[], isMany: boolean): Wanted {
  const coloring = params['color'] ?? ''
  const grouping = params['group'] ?? ''
  return {
    coloring: isColoring(coloring) ? coloring : 'phase',
    component: params['component'] ?? components[0] ?? '',
    grouping: isGrouping(grouping) ? grouping : isMany ? 'cluster' : 'zone',
    only: params['only'] ?? '',
    text: params['q'] ?? '',
    group: params['in'] ?? '',
  }
}

function Sentence({
  cells,
  wanted,
  href,
}: {
  readonly cells: Cells
  readonly wanted: Wanted
  readonly href: string
}): VNode {
  const filters = [wanted.only, wanted.group, wanted.text === '' ? '' : `name contains ${wanted.text}`].filter(
    (t) => t !== '',
  )
  return h(
    'span',
    { class: 'row' },
    filters.length === 0
      ? `${count(cells.total)} ${cells.total === 1 ? 'machine' : 'machines'}`
      : `${count(cells.shown)} of ${count(cells.total)} machines: ${filters.join(', ')}`,
    filters.length > 0 && h('a', { href }, 'Show all'),
  )
}

function NameFilter({ text }: { readonly text: string }): VNode {
  const { route, go } = useApp()
  const change = (e: Event): void => go(withParams(route, { q: (e.currentTarget as HTMLInputElement).value, page: '' }))
  return h('label', {}, 'Name contains', h('input', { type: 'search', size: 10, value: text, onChange: change }))
}

function MachineTable({ cells, isMany }: { readonly cells: Cells; readonly isMany: boolean }): VNode {
  const { route } = useApp()
  const rows = cells.groups.flatMap(({ cells: ids }) =>
    ids.flatMap((id) => {
      const topic = cells.topicOf(id)
      return topic === undefined ? [] : [machineAt(topic, cells.placeOf(id))]
    }),
  )
  return h(Table<Machine>, {
    caption: 'Machines',
    rows,
    idOf: (m) => `${m.cluster}/${m.name}`,
    href: (m) => to(route, 'node', { cluster: m.cluster, name: m.name }),
    columns: [
      { id: 'name', title: 'Machine', of: (m) => m.name, by: (m) => m.name },
      ...(isMany
        ? [{ id: 'cluster', title: 'Cluster', of: (m: Machine) => m.cluster, by: (m: Machine) => m.cluster }]
        : []),
      { id: 'phase', title: 'Phase', of: (m) => h(Mark, { phase: m.phase }), by: (m) => m.phase },
      { id: 'since', title: 'For', of: (m) => h(Ago, { at: m.since }), by: (m) => -m.since },
      { id: 'reason', title: 'Reason', of: (m) => m.reason, by: (m) => m.reason },
      {
        id: 'health',
        title: 'Components',
        of: (m) => (m.health === '' ? '' : h(Mark, { phase: m.health })),
        by: (m) => m.health,
      },
      {
        id: 'versions',
        title: 'Versions',
        of: (m) => h(Pairs, { of: m.versions.split(',').map((v) => v.replace('=', ' ')) }),
        by: (m) => m.versions,
      },
      { id: 'repair', title: 'Repair', of: (m) => m.repair, by: (m) => m.repair },
      { id: 'condition', title: 'Condition', of: (m) => m.condition, by: (m) => m.condition },
      { id: 'silent', title: 'Silent', of: (m) => m.silent, by: (m) => m.silent },
      { id: 'blame', title: 'Blame', of: (m) => m.blame, by: (m) => m.blame },
      { id: 'zone', title: 'Zone', of: (m) => m.zone, by: (m) => m.zone, isWhole: true },
      { id: 'rack', title: 'Rack', of: (m) => m.rack, by: (m) => m.rack, isWhole: true },
      { id: 'pool', title: 'Pool', of: (m) => m.pool, by: (m) => m.pool, isWhole: true },
    ],
  })
}
