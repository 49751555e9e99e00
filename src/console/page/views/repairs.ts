// Repairs: a cluster's incidents, and one incident's timeline: detection, rule, permit, steps, verification, relapses.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp, useCluster, useTopic } from '../app.ts'
import { AsTable, Page } from '../frame.ts'
import type { RepairsTopic } from '../../protocol.ts'
import type { RepairRow } from '../../topics.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago, At, Since, Until } from '../parts/clock.ts'
import { Mark, spaced, toneOf } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { Timeline } from '../parts/timeline.ts'
import type { Span } from '../parts/timeline.ts'
import { span } from '../parts/time.ts'
import { WaitLines } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'

export function Repairs(): VNode {
  const { route } = useApp()
  const cluster = useCluster('repairs')
  const loaded = useTopic<RepairsTopic>(cluster === undefined ? undefined : topicOf('repairs', cluster))
  if (route.name !== undefined && cluster !== undefined) return h(Incident, { cluster, name: route.name, loaded })
  return h(
    Page,
    {
      title: cluster === undefined ? 'Repairs' : `Repairs in ${cluster}`,
      sentence: 'Each fault that a rule answers, the newest first.',
      scope: { family: 'repairs', cluster },
      commands: cluster === undefined ? [] : [`kubenode get remedyoperationjobs --context ${word(cluster)}`],
    },
    shown(loaded, ({ rows }) =>
      rows.length === 0
        ? h(
            Notice,
            { title: 'No repairs' },
            'No rule found a fault to repair, and old repairs are removed after a while.',
          )
        : h(List, { rows }),
    ),
  )
}

const newestFirst = (a: RepairRow, b: RepairRow): number => (b.createdAt ?? 0) - (a.createdAt ?? 0)

function List({ rows }: { readonly rows: readonly RepairRow[] }): VNode {
  const { route } = useApp()
  return h(Table<RepairRow>, {
    caption: 'Repairs',
    rows: rows.toSorted(newestFirst),
    idOf: ({ id }) => id,
    href: ({ object }) => to(route, 'repairs', { cluster: object.cluster, name: object.name }),
    columns: [
      { id: 'node', title: 'Node', of: (r) => r.node, by: (r) => r.node },
      {
        id: 'rule',
        title: 'Rule',
        of: (r) => h('span', {}, r.rule, r.isDryRun && h('span', { class: 'soft' }, ' (dry run)')),
        by: (r) => r.rule,
      },
      { id: 'phase', title: 'Phase', of: (r) => h(Mark, { phase: r.phase }), by: (r) => r.phase },
      {
        id: 'outcome',
        title: 'Outcome',
        of: (r) => (r.outcome === undefined ? '' : h(Mark, { phase: r.outcome })),
        by: (r) => r.outcome ?? '',
      },
      {
        id: 'since',
        title: 'Created',
        of: (r) => h('span', {}, h(Ago, { at: r.createdAt }), ' ago'),
        isWhole: true,
        by: (r) => -(r.createdAt ?? 0),
      },
      { id: 'relapse', title: 'Relapse', of: (r) => (r.isRelapse ? 'yes' : ''), by: (r) => Number(r.isRelapse) },
      { id: 'wait', title: 'Waits for, or result', of: (r) => r.wait?.seen ?? r.message ?? '' },
    ],
  })
}

interface IncidentProps {
  readonly cluster: string
  readonly name: string
  readonly loaded: ReturnType<typeof useTopic<RepairsTopic>>
}

function Incident({ cluster, name, loaded }: IncidentProps): VNode {
  const { route } = useApp()
  const rows = loaded.state === 'Ready' ? loaded.value.rows : []
  const one = rows.find(({ object, incident }) => object.name === name || incident === name)
  const all =
    one === undefined
      ? []
      : rows.filter(({ incident }) => incident === one.incident).toSorted((a, b) => -newestFirst(a, b))
  const context = `--context ${word(cluster)}`
  return h(
    Page,
    {
      title: one === undefined ? `Repair ${name}` : `Repair of ${one.node}`,
      sentence:
        one &&
        h(
          'span',
          { class: 'row' },
          h(Mark, { phase: one.outcome ?? one.phase }),
          h('span', {}, `rule ${one.rule}, rung ${one.rung + 1}, attempt ${one.attempt}`),
          one.isRelapse && h('strong', {}, 'relapse within a day'),
          h(Since, { at: one.createdAt }),
        ),
      tools: [
        h('a', { href: to(route, 'repairs', { cluster }) }, 'All repairs'),
        one && h('a', { href: to(route, 'node', { cluster, name: one.machine ?? one.node }) }, 'The node'),
        h(AsTable, {}),
        one &&
          h(HoldButton, {
            cluster,
            target: { kind: 'RemedyOperationJob', name: one.object.name },
            effects: ['Pause', 'Abort'],
          }),
      ],
      commands: [
        `kubenode why job/${word(name)} ${context}`,
        ...(one === undefined ? [] : [`kubenode why-not node/${word(one.node)} ${context}`]),
      ],
    },
    shown(loaded, () =>
      one === undefined
        ? h(Notice, { title: 'This repair does not exist' }, 'Repairs that ended are removed after a while.')
        : h(Story, { rows: all, isTable: route.params['as'] === 'table' }),
    ),
  )
}

/** The repairs of one incident in order. */
export function Story({ rows, isTable }: { readonly rows: readonly RepairRow[]; readonly isTable: boolean }): VNode {
  const { now, route } = useApp()
  const time = Number(route.params['at'] ?? 0) || now()
  const spans = rows.flatMap((row) => spansOf(row))
  const last = rows.at(-1)
  return h(
    'div',
    { class: 'wide' },
    last?.wait !== undefined && h('div', { class: 'sheet pad' }, h(WaitLines, { wait: last.wait })),
    !isTable &&
      spans.length > 0 &&
      h('div', { class: 'sheet pad' }, h(Timeline, { spans, now: time, label: 'Timeline of the repair' })),
    h(Table<Span>, {
      caption: 'What happened',
      rows: spans,
      idOf: ({ id }) => id,
      columns: [
        {
          id: 'what',
          title: 'What',
          of: (s) => h('span', {}, s.lane, ' ', h(Mark, { phase: s.text, tone: s.tone })),
          by: (s) => s.lane,
        },
        { id: 'from', title: 'Began', of: (s) => h(At, { at: s.from }), by: (s) => s.from },
        {
          id: 'took',
          title: 'Took',
          of: (s) => (s.to === undefined ? 'not ended' : span(s.to - s.from)),
          by: (s) => (s.to ?? time) - s.from,
        },
      ],
    }),
    rows.flatMap((row) => outputs(row)),
    last?.message !== undefined &&
      last.message !== '' &&
      h('div', { class: 'sheet pad' }, h('h2', {}, 'Result'), h('p', {}, last.message)),
    last?.verifyUntil !== undefined &&
      last.phase === 'Verifying' &&
      h(
        'div',
        { class: 'sheet pad' },
        'Verified ',
        h(Until, { at: last.verifyUntil }),
        ' if the fault does not return.',
      ),
  )
}

function spansOf(row: RepairRow): readonly Span[] {
  const prefix = row.rung === 0 && row.attempt <= 1 ? '' : `rung ${row.rung + 1}.${row.attempt} `
  const until = (to: number | undefined) => (to === undefined ? {} : { to })
  const waited =
    row.createdAt === undefined
      ? []
      : [
          {
            id: `${row.id}/wait`,
            lane: `${prefix}permit`,
            text: row.startedAt === undefined ? 'AwaitingPermit' : 'Granted',
            tone: row.startedAt === undefined ? ('wait' as const) : ('rest' as const),
            from: row.createdAt,
            ...until(row.startedAt ?? row.finishedAt),
          },
        ]
  const steps = row.steps.flatMap((step, i) =>
    step.startedAt === undefined
      ? []
      : [
          {
            id: `${row.id}/${i}`,
            lane: `${prefix}${spaced(step.operation)}`,
            text: step.outcome ?? 'Running',
            tone: toneOf(step.outcome ?? 'Running'),
            from: step.startedAt,
            ...until(step.finishedAt),
          },
        ],
  )
  const ended = Math.max(0, ...row.steps.map((s) => s.finishedAt ?? 0))
  const isVerified =
    ended > 0 &&
    (row.phase === 'Verifying' || row.finishedAt !== undefined) &&
    row.steps.every((s) => s.finishedAt !== undefined)
  return [
    ...waited,
    ...steps,
    ...(isVerified
      ? [
          {
            id: `${row.id}/verify`,
            lane: `${prefix}verification`,
            text: row.outcome ?? 'Verifying',
            tone: toneOf(row.outcome ?? 'Verifying'),
            from: ended,
            ...until(row.finishedAt),
          },
        ]
      : []),
  ]
}

const outputs = (row: RepairRow): readonly VNode[] =>
  row.steps.flatMap((step, i) =>
    step.output === undefined || step.output === ''
      ? []
      : [
          h(
            'section',
            { key: `${row.id}/${i}`, class: 'stack', 'aria-label': `Output of ${spaced(step.operation)}` },
            h('h2', {}, `Output of ${spaced(step.operation)}`),
            h('pre', { class: 'said' }, step.output),
          ),
        ],
  )
