// Turns the columns of one or more clusters into heat map cells: value, shade, group, and filter. Pure.
import type { MachinesTopic } from '../../protocol.ts'
import { clusterOf } from '../../topic-name.ts'
import { byName } from '../parts/table.ts'
import { LABEL, columnFor, shadesOf, valueIn, valuesOf } from './colors.ts'
import type { Coloring, Grouping, Shade } from './colors.ts'
import type { Group } from './field.ts'

export interface Wanted {
  readonly coloring: Coloring
  /** For coloring by version. */
  readonly component: string
  readonly grouping: Grouping
  /** Only machines with this value; empty: all. */
  readonly only: string
  /** Only machines with this text in their name. */
  readonly text: string
  /** Only machines of this group; empty: all. */
  readonly group: string
}

export interface Machines {
  /** Number of machines before the filter. */
  readonly total: number
  readonly shown: number
  /** Cell id → its topic, and its index there. */
  readonly topicOf: (id: number) => MachinesTopic | undefined
  readonly placeOf: (id: number) => number
  readonly shades: readonly Shade[]
  /** Cell id → its shade. */
  readonly shadeOf: Uint8Array
  readonly counts: ReadonlyMap<string, number>
  readonly groups: readonly Group[]
}

/** Indexes in name order, recomputed only when machines come or go: sorting 10,000 names takes longer than drawing them. */
export function rememberedOrder(): (topic: MachinesTopic) => readonly number[] {
  const kept = new Map<string, { readonly names: readonly string[]; readonly order: readonly number[] }>()
  return ({ topic, names }) => {
    const before = kept.get(topic)
    if (before !== undefined && before.names.length === names.length && before.names.every((n, i) => n === names[i]))
      return before.order
    const order = names.map((_, i) => i).sort((a, b) => byName(names[a] ?? '', names[b] ?? ''))
    kept.set(topic, { names, order })
    return order
  }
}

export function machinesOf(
  topics: readonly MachinesTopic[],
  wanted: Wanted,
  orderOf: (topic: MachinesTopic) => readonly number[],
): Machines {
  const starts: number[] = []
  let total = 0
  for (const { names } of topics) {
    starts.push(total)
    total += names.length
  }
  const values: string[] = []
  const counts = new Map<string, number>()
  const groups = new Map<string, number[]>()
  const names: string[] = Array.from({ length: total })
  topics.forEach((topic, t) => {
    const start = starts[t] ?? 0
    const valueOfWord = valuesOf(topic, wanted.coloring, wanted.component)
    const column = columnFor(topic, wanted.coloring)
    const groupOf = groupingOf(topic, wanted)
    for (const place of orderOf(topic)) {
      const name = topic.names[place] ?? ''
      if (wanted.text !== '' && !name.includes(wanted.text)) continue
      const group = groupOf(place)
      if (wanted.group !== '' && group !== wanted.group) continue
      const value = valueOfWord[column[place] ?? 0] ?? ''
      counts.set(value, (counts.get(value) ?? 0) + 1)
      if (wanted.only !== '' && value !== wanted.only) continue
      const id = start + place
      values[id] = value
      names[id] = name
      const cells = groups.get(group)
      if (cells === undefined) groups.set(group, [id])
      else cells.push(id)
    }
  })
  const shades = shadesOf(wanted.coloring, counts)
  const indexOf = new Map(shades.map(({ name }, i) => [name, i]))
  const shadeOf = new Uint8Array(total)
  let shown = 0
  for (const cells of groups.values()) {
    shown += cells.length
    for (const id of cells) shadeOf[id] = indexOf.get(values[id] ?? '') ?? 0
  }
  const topicIndex = (id: number): number => starts.findLastIndex((start) => id >= start)
  return {
    total,
    shown,
    topicOf: (id) => topics[topicIndex(id)],
    placeOf: (id) => id - (starts[topicIndex(id)] ?? 0),
    shades,
    shadeOf,
    counts,
    groups: [...groups].toSorted(([a], [b]) => byName(a, b)).map(([title, cells]) => ({ title, cells })),
  }
}

/** What the machines are grouped by, in words. */
export const groupName = ({ grouping, component }: Wanted): string =>
  grouping === 'version' ? `version of ${component}` : grouping.replace(LABEL, '')

/** The group of a place. Words are read once each, not once a machine. */
function groupingOf({ topic, words, columns }: MachinesTopic, wanted: Wanted): (place: number) => string {
  const { grouping, component } = wanted
  if (grouping === 'none') return () => ''
  if (grouping === 'cluster') {
    const cluster = clusterOf(topic) ?? ''
    return () => cluster
  }
  const isLabel = grouping.startsWith(LABEL)
  const column = isLabel ? columns.labels : grouping === 'version' ? columns.versions : columnNamed(columns, grouping)
  const none = grouping === 'version' ? `no ${component}` : `no ${groupName(wanted)}`
  const titles = new Map<number, string>()
  return (place) => {
    const at = column[place] ?? 0
    const known = titles.get(at)
    if (known !== undefined) return known
    const word = words[at] ?? ''
    const value = isLabel
      ? valueIn(word, grouping.slice(LABEL.length))
      : grouping === 'version'
        ? valueIn(word, component)
        : word
    const title = value === '' ? none : value
    titles.set(at, title)
    return title
  }
}

const columnNamed = (columns: MachinesTopic['columns'], name: string): readonly number[] =>
  columns[name as keyof MachinesTopic['columns']]

/** One machine, as text. */
export interface Machine {
  readonly cluster: string
  readonly name: string
  readonly node: string
  readonly phase: string
  readonly zone: string
  readonly rack: string
  readonly pool: string
  readonly class: string
  readonly versions: string
  readonly health: string
  readonly repair: string
  readonly silent: string
  readonly blame: string
  readonly reason: string
  /** Its Node's problem condition; `Unknown` while the Node is unknown. */
  readonly condition: string
  readonly kernel: string
  readonly labels: string
  /** Milliseconds since 1970; 0 if unknown. */
  readonly since: number
}

export function machineAt(topic: MachinesTopic, place: number): Machine {
  const word = (column: keyof MachinesTopic['columns']): string => topic.words[topic.columns[column][place] ?? 0] ?? ''
  const name = topic.names[place] ?? ''
  return {
    cluster: clusterOf(topic.topic) ?? '',
    name,
    node: word('node') || name,
    phase: word('phase') || 'Unknown',
    zone: word('zone'),
    rack: word('rack'),
    pool: word('pool'),
    class: word('class'),
    versions: word('versions'),
    health: word('health'),
    repair: word('repair'),
    silent: word('silent'),
    blame: word('blame'),
    reason: word('reason'),
    condition: word('condition'),
    kernel: word('kernel'),
    labels: word('labels'),
    since: (topic.columns.since[place] ?? 0) * 1000,
  }
}

/** A machine's text for screen readers. */
export const spoken = (
  { name, phase, reason, zone, rack, cluster, repair, silent, condition }: Machine,
  isMany: boolean,
): string =>
  [
    name,
    phase,
    reason,
    repair === '' ? '' : `repair ${repair}`,
    silent === 'Yes' ? 'silent' : '',
    condition === 'Unknown' ? '' : condition,
    rack === '' ? '' : `rack ${rack}`,
    zone === '' ? '' : `zone ${zone}`,
    isMany ? `cluster ${cluster}` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
