// Faults by what they have in common: kind, kernel, class, zone and age of the machine. A rate beside each number, since a large group has more of everything. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { Node } from '#nodes/objects.ts'
import type { Fault, ReportFacts } from './facts.ts'
import { countedFaults } from './faults.ts'
import { count, countsOf, limited, type Section, share, UNKNOWN, word } from './report.ts'

interface Place {
  readonly kernel: string
  readonly class: string
  readonly zone: string
  readonly age: string
}

const NONE = 'none'
const GONE = 'node was deleted'
const DAY_MS = 86_400_000
const AGES = [
  [7, 'under a week'],
  [30, 'under a month'],
  [180, 'under half a year'],
] as const

function ageOf(created: string | undefined, now: number): string {
  const ms = Date.parse(created ?? '')
  if (!Number.isFinite(ms)) return NONE
  return AGES.find(([days]) => now - ms < days * DAY_MS)?.[1] ?? 'older'
}

function placeOf(node: Node, machine: Machine | undefined, now: number): Place {
  return {
    kernel: node.status?.nodeInfo?.kernelVersion ?? machine?.status?.platform?.kernel ?? NONE,
    class: machine?.spec.class ?? NONE,
    zone: machine?.spec.zone ?? node.metadata.labels?.['topology.kubernetes.io/zone'] ?? NONE,
    age: ageOf(node.metadata.creationTimestamp, now),
  }
}

const RATE_DIGITS = 2

export function faultSections(facts: ReportFacts): readonly Section[] {
  const { nodes, machines, to } = facts
  const faults = countedFaults(facts.faults)
  const byNode = new Map(machines.map((m) => [m.status?.nodeRef?.name ?? '', m]))
  const places = new Map(nodes.map((n) => [n.metadata.name ?? '', placeOf(n, byNode.get(n.metadata.name ?? ''), to)]))
  const about = facts.hasHistory
    ? 'A fault is a condition of a Node that turned bad in this time.'
    : 'Only faults that began in this time and still last: ended ones are known from a recorded history alone.'
  const kinds = countsOf(faults, (f) => f.kind)
  const lasting = countsOf(
    faults.filter((f) => f.ended === undefined),
    (f) => f.kind,
  )
  const by = (name: keyof Place): Section => {
    const groups = countsOf(faults, (f) => places.get(f.node)?.[name] ?? GONE)
    const sizes = new Map(countsOf(places.values(), (p) => p[name]))
    const all = [...new Set([...groups.map(([g]) => g), ...sizes.keys()])]
    const faultsIn = new Map(groups)
    const rows = all
      .map((group) => ({ group, faults: faultsIn.get(group) ?? 0, nodes: sizes.get(group) }))
      .toSorted((a, b) => b.faults - a.faults || a.group.localeCompare(b.group))
      .map((row) => {
        const rate = share(row.faults, row.nodes)
        return [
          word(row.group),
          count(row.faults),
          row.nodes === undefined ? UNKNOWN : count(row.nodes),
          rate === undefined
            ? UNKNOWN
            : { text: rate.toFixed(RATE_DIGITS), value: Number(rate.toFixed(RATE_DIGITS + 2)) },
        ]
      })
    const columns = [name, 'faults', 'nodes', 'faults a node']
    return { title: `Faults by ${name}`, kind: 'Node', about, columns, rows: limited(rows, columns.length) }
  }
  return [
    {
      title: 'Faults by kind',
      kind: 'Node',
      about,
      columns: ['kind', 'faults', 'lasting', 'nodes'],
      rows: limited(
        kinds.map(([kind, n]) => [
          word(kind),
          count(n),
          count(new Map(lasting).get(kind) ?? 0),
          count(nodesWith(faults, kind)),
        ]),
        4,
      ),
      chart: {
        form: 'rows',
        title: 'Faults by kind',
        bars: kinds.slice(0, 10).map(([label, value]) => ({ label, value, text: String(value) })),
      },
    },
    ...(['kernel', 'class', 'zone', 'age'] as const).map(by),
  ]
}

const nodesWith = (faults: readonly Fault[], kind: string): number =>
  new Set(faults.flatMap((f) => (f.kind === kind ? [f.node] : []))).size
