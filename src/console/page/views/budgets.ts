// Budgets: what may still be disrupted per policy and domain, with rates, breakers, blames, slot holders and waiting permits.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import { operationsText } from '../../operation-words.ts'
import type { VNode } from 'preact'
import { useApp, useCluster, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { BudgetsTopic } from '../../protocol.ts'
import type {
  BlameRow,
  BreakerRow,
  BudgetRow,
  GrantRow,
  LimitRow,
  WaitingPermitRow,
  WindowRow,
} from '../../budget-topics.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago, Bar, Since, Until } from '../parts/clock.ts'
import { Mark, spaced } from '../parts/mark.ts'
import { shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { Holds, ObjectLink } from '../parts/wait.ts'
import { ApproveButton, HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'

export function Budgets(): VNode {
  const cluster = useCluster('budgets')
  const loaded = useTopic<BudgetsTopic>(cluster === undefined ? undefined : topicOf('budgets', cluster))
  return h(
    Page,
    {
      title: cluster === undefined ? 'Budgets' : `Budgets of ${cluster}`,
      sentence:
        loaded.state === 'Ready' ? summary(loaded.value) : 'What may still be disrupted, and who holds the slots.',
      scope: { family: 'budgets', cluster },
      tools: [
        cluster !== undefined &&
          h(HoldButton, { cluster, target: { kind: 'Cluster', name: cluster }, effects: ['Freeze'], label: 'Freeze…' }),
      ],
      commands:
        cluster === undefined ? [] : [`kubenode get defenderpolicies,operationpermits -A --context ${word(cluster)}`],
    },
    shown(loaded, (topic) => h(Board, { topic, cluster: cluster ?? '' })),
  )
}

function summary({ head, rows }: BudgetsTopic): string {
  const full = rows.filter((r) => isLimit(r) && r.left <= 0).length
  const waiting = rows.filter((r) => r.row === 'Waiting').length
  const waits = waiting === 0 ? 'no permit waits' : waiting === 1 ? '1 permit waits' : `${waiting} permits wait`
  const used = `${full === 0 ? 'Every budget has room' : `${full} without room`}, ${waits}.`
  const counts = `${head.counts.granted} granted, ${head.counts.denied} denied, ${head.counts.failed} failed since the Defender started counting.`
  const held = head.holds?.some(({ effect }) => effect === 'Freeze') === true ? 'Frozen: nothing is granted. ' : ''
  return `${held}${used} ${counts}${head.isBuiltIn ? ' The built-in policy decides where no declared one does.' : ''}`
}

const isLimit = (row: BudgetRow): row is LimitRow =>
  row.row === 'Budget' || row.row === 'Rate' || row.row === 'HealthFloor'

function Board({ topic: { head, rows }, cluster }: { readonly topic: BudgetsTopic; readonly cluster: string }): VNode {
  const of = <T extends BudgetRow['row']>(name: T) =>
    rows.filter((row): row is Extract<BudgetRow, { readonly row: T }> => row.row === name)
  return h(
    'div',
    { class: 'wide' },
    head.holds !== undefined && h('div', { class: 'sheet pad' }, h(Holds, { holds: head.holds, cluster })),
    h(State, { breakers: of('Breaker'), windows: of('Window'), blames: of('Blame') }),
    h(Limits, { rows: rows.filter(isLimit) }),
    h(Waiting, { rows: of('Waiting'), cluster }),
    h(Grants, { rows: of('Grant'), cluster }),
  )
}

interface StateProps {
  readonly breakers: readonly BreakerRow[]
  readonly windows: readonly WindowRow[]
  readonly blames: readonly BlameRow[]
}

/** What people ask first of one that is not closed. */
const BREAKER_STOPS: Readonly<Partial<Record<string, string>>> = {
  Open: 'Stops every change and repair under this policy, except recoveries.',
  HalfOpen: 'Tries a few changes; the rest waits for how they end.',
}

/** A table would hide exceptions; here each gets a line. */
const State = ({ breakers, windows, blames }: StateProps): VNode =>
  h(
    'ul',
    { class: 'sheet items', 'aria-label': 'Breakers, windows and blame' },
    breakers.map((b) =>
      h(
        'li',
        { key: b.id },
        h(
          'div',
          { class: 'row' },
          h('strong', {}, `Breaker of ${b.policy}`),
          h(Mark, { phase: b.state, tone: b.state === 'Closed' ? 'good' : b.state === 'Open' ? 'bad' : 'wait' }),
          h('span', { class: 'soft' }, h(Since, { at: b.since })),
          h('span', {}, `${b.failures} failed of the last ${b.results.length}`),
          h(Results, { results: b.results }),
          BREAKER_STOPS[b.state] !== undefined && h('span', { class: 'soft' }, BREAKER_STOPS[b.state]),
        ),
      ),
    ),
    windows.map((w) =>
      h(
        'li',
        { key: w.id },
        h(
          'div',
          { class: 'row' },
          h('strong', {}, `Window of ${w.policy}`),
          h(Mark, { phase: w.isOpen ? 'Open' : 'Closed', tone: w.isOpen ? 'good' : 'wait' }),
          w.changesAt !== undefined && h('span', {}, w.isOpen ? 'closes ' : 'opens ', h(Until, { at: w.changesAt })),
          h('span', { class: 'soft' }, w.text),
        ),
      ),
    ),
    blames.map((b) =>
      h(
        'li',
        { key: b.id },
        h(
          'div',
          { class: 'row' },
          h('strong', {}, b.text),
          h(Mark, { phase: 'blamed', tone: 'bad' }),
          h('span', {}, `${b.failing} of ${b.members} with it failed, ${b.failingElsewhere} of ${b.elsewhere} without`),
          h('span', { class: 'soft' }, h(Since, { at: b.since })),
        ),
      ),
    ),
    breakers.length + windows.length + blames.length === 0 &&
      h('li', { class: 'soft' }, 'No breaker, no window, and nothing is blamed.'),
  )

/** The last results as marks, newest last. */
const Results = ({ results }: { readonly results: string }): VNode =>
  h(
    'svg',
    {
      viewBox: `0 0 ${results.length * 8} 10`,
      width: results.length * 8,
      height: 10,
      role: 'img',
      'aria-label': `Last results, newest last: ${[...results].map((r) => (r === 's' ? 'succeeded' : 'failed')).join(', ')}`,
    },
    [...results].map((r, i) =>
      h('rect', {
        key: i,
        x: i * 8,
        y: r === 's' ? 4 : 0,
        width: 6,
        height: r === 's' ? 6 : 10,
        fill: r === 's' ? 'var(--good)' : 'var(--bad)',
      }),
    ),
  )

const NAMES = { Budget: 'Budget', Rate: 'Rate', HealthFloor: 'Health floor' } as const

const Limits = ({ rows }: { readonly rows: readonly LimitRow[] }): VNode =>
  h(Table<LimitRow>, {
    caption: 'Budgets and rates',
    rows: rows.toSorted((a, b) => a.left / Math.max(1, a.limit) - b.left / Math.max(1, b.limit)),
    idOf: ({ id }) => id,
    empty: 'No policy limits anything.',
    columns: [
      {
        id: 'policy',
        title: 'Policy',
        of: (r) => h('span', {}, r.policy, r.mode === 'Audit' && h('span', { class: 'soft' }, ' (audit)')),
        by: (r) => r.policy,
      },
      {
        id: 'what',
        title: 'What',
        of: (r) => `${NAMES[r.row]}, ${r.row === 'Rate' ? `within ${r.of}` : r.of}`,
        by: (r) => `${r.row} ${r.of}`,
      },
      {
        id: 'where',
        title: 'Where',
        of: (r) => (r.domain === '' ? `the ${r.per}` : `${r.per} ${r.domain}`),
        by: (r) => `${r.per} ${r.domain}`,
      },
      {
        id: 'left',
        title: 'Left',
        of: (r) =>
          h(
            'div',
            {},
            h(
              'span',
              { class: 'row' },
              h('strong', {}, `${r.left} of ${r.limit}`),
              typeof r.declared === 'string' && h('span', { class: 'soft' }, `(${r.declared})`),
            ),
            h(Bar, {
              share: r.left / Math.max(1, r.limit),
              tone: r.left <= 0 ? 'bad' : 'good',
              label: `${r.left} of ${r.limit} left`,
            }),
          ),
        by: (r) => r.left,
      },
      {
        id: 'next',
        title: 'Next grant',
        of: (r) => r.nextAt !== undefined && h(Until, { at: r.nextAt }),
        by: (r) => r.nextAt ?? 0,
      },
    ],
  })

function Waiting({ rows, cluster }: { readonly rows: readonly WaitingPermitRow[]; readonly cluster: string }): VNode {
  const { route } = useApp()
  return h(Table<WaitingPermitRow>, {
    caption: 'Waiting for a permit',
    rows,
    prefix: 'waiting-',
    idOf: ({ id }) => id,
    href: ({ object }) => to(route, 'why', { cluster, kind: object.kind, name: object.name }),
    empty: 'No permit waits.',
    columns: [
      { id: 'for', title: 'Permit for', of: (r) => h('span', { title: r.object.name }, r.reason), by: (r) => r.reason },
      { id: 'since', title: 'Since', of: (r) => h(Since, { at: r.since }), by: (r) => -(r.since ?? 0) },
      {
        id: 'what',
        title: 'What',
        of: (r) => `${operationsText(r.operations)} on ${r.targets} ${r.targets === 1 ? 'target' : 'targets'}`,
      },
      {
        id: 'gates',
        title: 'Closed gates',
        of: (r) =>
          h(
            'ul',
            {},
            r.gates.map((g) =>
              h('li', { key: `${g.policy ?? ''}/${g.gate}` }, h('strong', {}, spaced(g.gate)), ' ', g.text),
            ),
          ),
      },
      {
        id: 'act',
        title: 'Approval',
        isAct: true,
        of: (r) =>
          r.approvals.length > 0 &&
          h(ApproveButton, {
            cluster,
            of: {
              kind: 'OperationPermit',
              name: r.object.name,
              ...defined({ namespace: r.object.namespace }),
            },
            what: `permit for ${r.reason}`,
            approvals: r.approvals,
          }),
      },
    ],
  })
}

const Grants = ({ rows }: { readonly rows: readonly GrantRow[]; readonly cluster: string }): VNode =>
  h(Table<GrantRow>, {
    caption: 'Held slots',
    rows,
    prefix: 'held-',
    idOf: ({ id }) => id,
    empty: 'No slot is held.',
    columns: [
      { id: 'target', title: 'Target', of: (r) => h(ObjectLink, { object: r.target }), by: (r) => r.target.name },
      { id: 'state', title: 'State', of: (r) => h(Mark, { phase: r.state }), by: (r) => r.state },
      { id: 'for', title: 'For', of: (r) => h(Ago, { at: r.since }), by: (r) => -r.since },
      {
        id: 'what',
        title: 'What',
        of: (r) => [operationsText(r.operations), r.component ?? ''].filter((t) => t !== '').join(', '),
      },
      {
        id: 'permit',
        title: 'Permit for',
        of: (r) => h('span', { title: r.permit }, r.purpose ?? r.permit),
        by: (r) => r.purpose ?? r.permit,
      },
      { id: 'where', title: 'Where', of: (r) => [r.zone, r.rack, r.pool].filter((t) => t !== undefined).join(' · ') },
    ],
  })
