// Fleet health, Utilization and Reliability: one number with what makes it so, charts and tables over a time range, each with a link to the objects behind it.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAnswer, useApp, useCluster } from '../app.ts'
import { Choice, Page } from '../frame.ts'
import type { ReportAnswer, ReportCell, ReportKindShown, ReportSection } from '../../report.ts'
import { Chart, Counts } from '../parts/charts.ts'
import { Since } from '../parts/clock.ts'
import { Notice, sentence, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { hrefOfObject } from '../parts/wait.ts'
import { to } from '../router.ts'
import type { View } from '../router.ts'

const RANGES = { '1d': 'a day', '7d': 'a week', '30d': '30 days' } as const
const DEFAULT = '7d'

export const Health = (): VNode => h(Report, { title: 'Fleet health', kinds: ['fleet'], hasVerdict: true })
export const Utilization = (): VNode => h(Report, { title: 'Utilization', kinds: ['pool'] })
export const Reliability = (): VNode => h(Report, { title: 'Reliability', kinds: ['repairs', 'release'] })

interface Wish {
  readonly title: string
  readonly kinds: readonly [ReportKindShown, ReportKindShown?]
  readonly hasVerdict?: boolean
}

function Report({ title, kinds: [first, second], hasVerdict = false }: Wish): VNode {
  const { route } = useApp()
  const cluster = useCluster('machines')
  const [again, setAgain] = useState(0)
  const given = route.params['since'] ?? DEFAULT
  const since = Object.hasOwn(RANGES, given) ? given : DEFAULT
  const url = (kind: ReportKindShown | undefined): string | undefined =>
    cluster === undefined || kind === undefined
      ? undefined
      : `/api/report?${new URLSearchParams({ kind, cluster, since })}`
  const one = useAnswer<ReportAnswer>(url(first), again)
  const other = useAnswer<ReportAnswer>(url(second), again)
  const commands = [one, other].flatMap((l) => (l.state === 'Ready' ? [l.value.command] : []))
  return h(
    Page,
    {
      title: cluster === undefined ? title : `${title} of ${cluster}`,
      sentence: 'The figures of kubenode report, and of the dashboards for Grafana.',
      scope: { family: 'machines', cluster },
      tools: [
        h(Choice, { label: 'Over', name: 'since', value: since, options: RANGES }),
        h('button', { type: 'button', onClick: () => setAgain(again + 1) }, 'Read again'),
      ],
      commands,
    },
    h(
      'div',
      { class: 'wide' },
      shown(one, (answer) => h(Answer, { answer, hasVerdict })),
      second !== undefined &&
        shown(other, (answer) =>
          h(Answer, { answer, hasVerdict, named: one.state === 'Ready' ? one.value.report.unknown : [] }),
        ),
    ),
  )
}

/** What is promised: a pool that stays above it keeps its budget. */
const PROMISE = 0.999

interface AnswerProps {
  readonly answer: ReportAnswer
  readonly hasVerdict: boolean
  /** Unknown parts that another report above names already. */
  readonly named?: readonly string[]
}

function Answer({ answer, hasVerdict, named = [] }: AnswerProps): VNode {
  const { report, seen = [] } = answer
  const unknown = report.unknown.filter((text) => !named.includes(text))
  const { value, text } = report.headline
  const tone = value === null ? 'wait' : value >= PROMISE ? 'good' : 'bad'
  return h(
    'div',
    { class: 'wide' },
    h(
      'div',
      { class: `sheet verdict ${hasVerdict ? tone : 'rest'}` },
      h('h2', { class: 'headline' }, text),
      hasVerdict && h('p', {}, verdictOf(value)),
    ),
    hasVerdict && h(Counts, { seen }),
    report.sections.map((section) => h(Part, { key: section.title, section, cluster: report.cluster })),
    unknown.length > 0 &&
      h(
        'div',
        { class: 'stack' },
        h('h2', {}, 'Not known'),
        h(
          'ul',
          { class: 'sheet items' },
          unknown.map((part) => h('li', { key: part }, sentence(part))),
        ),
      ),
  )
}

function verdictOf(value: number | null): string {
  if (value === null) return 'Nothing was measured in this time, so it is unknown whether the fleet is good.'
  return value >= PROMISE
    ? 'The fleet is good: it keeps the 99.9 % that are promised. What made it so is below.'
    : 'The fleet is not good: it is below the 99.9 % that are promised. What made it so is below.'
}

/** Where the objects behind figures are. */
const VIEW_OF: Readonly<Record<string, readonly [View, string]>> = {
  Machine: ['machines', 'Machines'],
  Node: ['machines', 'Machines'],
  RemedyOperationJob: ['repairs', 'Repairs'],
  Release: ['pipeline', 'Pipeline'],
  MachineComponentSet: ['rollouts', 'Rollouts'],
}

/** Reports write times for programs too. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/

interface Row {
  readonly id: string
  readonly cells: readonly ReportCell[]
}

function Part({ section, cluster }: { readonly section: ReportSection; readonly cluster: string }): VNode {
  const { route } = useApp()
  const { title, about, columns, rows, chart, kind } = section
  const [view, name] = VIEW_OF[kind ?? ''] ?? []
  const isOfFleet = view === 'pipeline'
  return h(
    'div',
    { class: 'stack' },
    h(
      'div',
      { class: 'row apart' },
      h('h2', {}, title),
      view !== undefined && h('a', { href: to(route, view, isOfFleet ? {} : { cluster }) }, `Open ${name ?? ''}`),
    ),
    h('p', { class: 'soft' }, about),
    chart !== undefined && h(Chart, { chart, title }),
    rows.length === 0
      ? h(Notice, { title: 'None' })
      : h(Table<Row>, {
          caption: title,
          hasHeading: true,
          hasMeanings: columns[1] === 'value',
          prefix: `${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-`,
          rows: rows.map((cells, n) => ({ id: String(n), cells })),
          idOf: ({ id }) => id,
          columns: columns.map((column, n) => ({
            id: String(n),
            title: column.charAt(0).toUpperCase() + column.slice(1),
            of: ({ cells }: Row) => shownCell(cells[n]),
            by: ({ cells }: Row) => cells[n]?.value ?? '',
            isNumber: rows.every((cells) => typeof cells[n]?.value !== 'string' || cells[n].value === ''),
          })),
        }),
  )

  function shownCell(cell: ReportCell | undefined) {
    if (cell === undefined) return ''
    if (cell.value === null) return h('em', { class: 'soft' }, cell.text)
    if (TIME.test(cell.text)) return h(Since, { at: Date.parse(cell.text) })
    return cell.object === undefined
      ? cell.text
      : h('a', { href: hrefOfObject(route, { cluster, ...cell.object }) }, cell.text)
  }
}
