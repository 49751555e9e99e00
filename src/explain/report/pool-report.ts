// The report on pools: their service level, what is left of its budget, and what of their capacity is requested and used. Pure.
import { nodeResources, placesOfNodes, type ResourceSum } from '#measure/capacity.ts'
import { dayOf, NO_POOL, sumOfDays } from '#measure/kept-days.ts'
import { budgetOf, NO_SECONDS, plus, serviceLevel, type StateSeconds } from '#measure/service-level.ts'
import { poolsIn, type ReportFacts } from './facts.ts'
import { type Cell, count, duration, limited, percent, percentText, type Section, share, word } from './report.ts'
import { GIB } from '#lib/bytes.ts'

/** Shares near one differ in their third digit. */
export const LEVEL_DIGITS = 3

/** All pools together; undefined while nothing was measured. */
export function secondsOf({ levels, from }: ReportFacts): StateSeconds | undefined {
  if (levels === undefined) return undefined
  return [...sumOfDays(levels, dayOf(from)).values()].reduce((sum, s) => plus(sum, s), NO_SECONDS)
}

/** Undefined while nothing was measured. */
export function levelOf(facts: ReportFacts): number | undefined {
  const seconds = secondsOf(facts)
  return seconds && serviceLevel(seconds)
}

function levelsSection(facts: ReportFacts, only: string | undefined): Section {
  const { levels, from } = facts
  const sums = levels === undefined ? new Map<string, StateSeconds>() : sumOfDays(levels, dayOf(from))
  const month = levels === undefined ? new Map<string, StateSeconds>() : sumOfDays(levels)
  const pools = [...poolsIn(facts)].filter((pool) => only === undefined || pool === only).toSorted()
  const columns = ['pool', 'machines', 'good node time', 'fault', 'silent', 'planned', 'budget left']
  const rows = pools.map((pool): readonly Cell[] => {
    const seconds = sums.get(pool)
    const budget = budgetOf(month.get(pool) ?? NO_SECONDS, levels?.nodes.get(pool) ?? 0, levels?.days.length ?? 0)
    return [
      word(pool),
      count(facts.machines.filter((m) => (m.spec.pool ?? NO_POOL) === pool).length),
      percent(seconds === undefined ? undefined : serviceLevel(seconds), LEVEL_DIGITS),
      duration(seconds?.fault),
      duration(seconds?.silent),
      duration(seconds?.planned),
      percent(budget?.left, 0),
    ]
  })
  return {
    title: 'Service level by pool',
    kind: 'Machine',
    about:
      'Good node time: good / (good + fault + silent), by whole days. Planned work is shown beside it. The budget is what 99.9 % leaves in 30 days.',
    columns,
    rows: limited(rows, columns.length),
    chart: daysChart(facts, only),
  }
}

export function daysChart({ levels, from }: ReportFacts, only?: string): NonNullable<Section['chart']> {
  const days = (levels?.days ?? []).filter(({ day }) => day >= dayOf(from))
  return {
    form: 'columns',
    title: 'Good node time by day',
    most: 1,
    bars: days.map(({ day, pools }) => {
      const all = [...pools].flatMap(([pool, s]) => (only === undefined || pool === only ? [s] : []))
      const value = serviceLevel(all.reduce((sum, s) => plus(sum, s), NO_SECONDS))
      return { label: day, value, text: value === undefined ? 'unknown' : percentText(value, LEVEL_DIGITS) }
    }),
  }
}

const BYTES: ReadonlySet<string> = new Set(['memory', 'ephemeral-storage'])

const amount = (resource: string, value: number | undefined): Cell => {
  if (value === undefined) return percent(undefined)
  const text = BYTES.has(resource) ? `${(value / GIB).toFixed(1)} GiB` : Number(value.toFixed(1)).toLocaleString('en')
  return { text, value }
}

interface Use {
  readonly key: readonly string[]
  readonly resource: string
  readonly allocatable: number
  readonly requested: number | undefined
  readonly used: number | undefined
}

/** Sums by these labels; what is not known of one is not known of the sum. */
function utilization(facts: ReportFacts, keyOf: (sum: ResourceSum) => readonly string[]): readonly Use[] {
  const places = placesOfNodes(facts.machines, facts.nodes)
  const total = (sums: readonly ResourceSum[] | undefined): ReadonlyMap<string, number> | undefined => {
    if (sums === undefined) return undefined
    const out = new Map<string, number>()
    for (const sum of sums) {
      const key = JSON.stringify([...keyOf(sum), sum.resource])
      out.set(key, (out.get(key) ?? 0) + sum.value)
    }
    return out
  }
  const [allocatable, requested, used] = [
    nodeResources(facts.nodes, places, 'allocatable'),
    facts.requested,
    facts.used,
  ].map(total)
  return [...(allocatable ?? [])].map(([key, value]) => {
    const parts = JSON.parse(key) as readonly string[]
    const resource = parts.at(-1) ?? ''
    return {
      key: parts.slice(0, -1),
      resource,
      allocatable: value,
      // No pod asks for it: nothing is requested, which is known.
      requested: requested === undefined ? undefined : (requested.get(key) ?? 0),
      used: used?.get(key),
    }
  })
}

export function utilizationSection(facts: ReportFacts, only: string | undefined, isWhole = false): Section {
  const keyOf = (s: ResourceSum): readonly string[] => (isWhole ? [] : [s.pool, s.class])
  const uses = utilization(facts, keyOf)
    .filter(({ key }) => only === undefined || key[0] === only)
    .toSorted((a, b) => [...a.key, a.resource].join(' ').localeCompare([...b.key, b.resource].join(' ')))
  const heads = isWhole ? [] : ['pool', 'class']
  const columns = [...heads, 'resource', 'allocatable', 'requested', 'requested share', 'used', 'used share']
  return {
    kind: 'Machine',
    title: isWhole ? 'Utilization' : 'Utilization by pool and class',
    about: 'What nodes have for pods, what pods request, and what nodes use.',
    columns,
    rows: limited(
      uses.map((u) => [
        ...u.key.map(word),
        word(u.resource),
        amount(u.resource, u.allocatable),
        amount(u.resource, u.requested),
        percent(share(u.requested, u.allocatable)),
        amount(u.resource, u.used),
        percent(share(u.used, u.allocatable)),
      ]),
      columns.length,
    ),
    chart: {
      form: 'rows',
      title: 'Requested of what pods can have',
      most: 1,
      bars: uses.slice(0, 12).map((u) => {
        const value = share(u.requested, u.allocatable)
        const known = u.key.filter((part) => part !== NO_POOL)
        const place = isWhole || known.length > 0 ? known : ['no pool']
        const label = [...place, u.resource].join(' ')
        return { label, value, text: value === undefined ? 'unknown' : percentText(value) }
      }),
    },
  }
}

export const poolSections = (facts: ReportFacts, only: string | undefined): readonly Section[] => [
  levelsSection(facts, only),
  utilizationSection(facts, only),
]

export function levelHeadline(facts: ReportFacts): { readonly text: string; readonly value: number | null } {
  const level = levelOf(facts)
  return level === undefined
    ? { text: 'good node time is unknown', value: null }
    : { text: `${percentText(level, LEVEL_DIGITS)} good node time`, value: level }
}
