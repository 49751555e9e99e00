// Home: one line that shows whether anything needs manual intervention, then what, since when, and the command for it.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { hubOf, useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { HomeTopic } from '../../protocol.ts'
import type { AttentionRow, HomeHead } from '../../topics.ts'
import { Since } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import type { Tone } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { word } from '../parts/terminal.ts'
import { count } from '../parts/time.ts'
import { LiftLine, hrefOfObject } from '../parts/wait.ts'
import { to } from '../router.ts'

export function Home(): VNode {
  const { session, store } = useApp()
  const loaded = useTopic<HomeTopic>('home')
  const head = loaded.state === 'Ready' ? loaded.value.head : undefined
  return h(
    Page,
    {
      title: 'Home',
      ...(head !== undefined && {
        heading: head.sentence,
        tone: toneOf(NOW.has(store.connection.state) ? head : { ...head, unknown: 1 }),
      }),
      commands: [`kubenode get clusters,releases -A --context ${word(hubOf(session))}`],
    },
    shown(loaded, ({ head, rows }) => h(Board, { head, rows })),
  )
}

/** Connection states in which the page shows the present. */
const NOW: ReadonlySet<string> = new Set(['Connecting', 'Live'])

/** Without machines, or while anything is unknown, the fleet is not shown as healthy; an older server does not report whether there are machines. */
const toneOf = (head: HomeHead): Tone => {
  if (head.needsAttention > 0) return 'bad'
  return head.waits > 0 || head.unknown !== 0 || head.machines.total === 0 ? 'wait' : 'good'
}

function Board({ head, rows }: Pick<HomeTopic, 'head' | 'rows'>): VNode {
  const { route } = useApp()
  const act = rows.filter(({ weight }) => weight === 'Act').toSorted(oldestFirst)
  const wait = rows.filter(({ weight }) => weight === 'Wait').toSorted(oldestFirst)
  const unknown = rows.filter(({ weight }) => weight === 'Unknown')
  return h(
    'div',
    { class: 'wide' },
    h(
      'div',
      { class: 'figures' },
      figure('Machines ready', `${count(head.machines.ready)} of ${count(head.machines.total)}`, to(route, 'machines')),
      figure('Clusters connected', `${head.clusters.connected} of ${head.clusters.total}`, to(route, 'clusters')),
      figure('Need attention', String(head.needsAttention)),
      figure('Waiting', String(head.waits)),
    ),
    head.machines.total === 0 &&
      rows.length === 0 &&
      h(
        Notice,
        { title: 'What comes next' },
        'A FleetSource follows a repository, and its commits declare machines and components; kubenode bootstrap creates one. kubenode import observes Nodes that exist.',
      ),
    act.length > 0 && h(List, { title: 'Needs attention', rows: act }),
    wait.length > 0 && h(List, { title: 'Waits, and continues by itself', rows: wait }),
    unknown.length > 0 && h(List, { title: 'Not known', rows: unknown }),
  )
}

const oldestFirst = (a: AttentionRow, b: AttentionRow): number => (a.since ?? 0) - (b.since ?? 0)

const figure = (label: string, value: string, href?: string): VNode =>
  h(
    href === undefined ? 'div' : 'a',
    { class: 'sheet figure', ...defined({ href }) },
    h('b', {}, value),
    h('span', { class: 'soft' }, label),
  )

const TONES: Readonly<Record<AttentionRow['weight'], Tone>> = { Act: 'bad', Wait: 'wait', Unknown: 'still' }

function List({ title, rows }: { readonly title: string; readonly rows: readonly AttentionRow[] }): VNode {
  const { route } = useApp()
  return h(
    'section',
    { class: 'stack', 'aria-label': title },
    h('h2', {}, title),
    h(
      'ul',
      { class: 'sheet items' },
      rows.map((row) =>
        h(
          'li',
          { key: row.id },
          h(
            'div',
            { class: 'row apart' },
            h('a', { href: hrefOfObject(route, row.object), 'data-row': '', class: 'name' }, row.text),
            h(
              'span',
              { class: 'row small soft' },
              h(Mark, { phase: row.object.cluster, tone: TONES[row.weight] }),
              h(Since, { at: row.since }),
            ),
          ),
          row.lift !== undefined && h(LiftLine, { lift: row.lift, cluster: row.object.cluster }),
          row.holdsUp?.map((text) => h('p', { class: 'small soft', key: text }, `Blocks: ${text}`)),
          row.runbook !== undefined && h('p', { class: 'small soft' }, 'More: ', h('code', {}, row.runbook)),
        ),
      ),
    ),
  )
}
