// Home: one line that shows whether anything needs manual intervention, then what, since when, and the command for it.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { clustersWith, hubOf, useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { HomeTopic, PipelineTopic } from '../../protocol.ts'
import type { AttentionRow, HomeHead, PipelineRow } from '../../topics.ts'
import { CauseCard } from '../parts/cause-card.ts'
import { causesOf } from '../parts/causes.ts'
import type { Cause } from '../parts/causes.ts'
import type { Tone } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { word } from '../parts/terminal.ts'
import { count } from '../parts/time.ts'
import { to } from '../router.ts'
import { Changes } from './home-changes.ts'

export function Home(): VNode {
  const { session, store, route } = useApp()
  const of = route.params['of']
  const loaded = useTopic<HomeTopic>('home')
  // Followed from the start: a topic that is added later opens the stream again.
  const hasChanges = of === undefined && clustersWith(session, 'pipeline').length > 0
  const pipeline = useTopic<PipelineTopic>(hasChanges ? 'pipeline' : undefined)
  const head = loaded.state === 'Ready' ? headFor(loaded.value, of) : undefined
  return h(
    Page,
    {
      title: 'Home',
      scope: { family: 'machines', cluster: of, all: true },
      ...(head !== undefined && {
        heading: head.sentence,
        tone: toneOf(NOW.has(store.connection.state) ? head : { ...head, unknown: 1 }),
      }),
      commands: [`kubenode get clusters,releases -A --context ${word(hubOf(session))}`],
    },
    shown(loaded, (home) =>
      h(Board, {
        head: head ?? home.head,
        rows: rowsFor(home, of),
        changes: pipeline.state === 'Ready' ? pipeline.value.rows : [],
      }),
    ),
  )
}

/** `isPart`: of one cluster. */
type Head = HomeHead & { readonly isPart?: true }

const rowsFor = ({ rows }: HomeTopic, of: string | undefined): readonly AttentionRow[] =>
  of === undefined ? rows : rows.filter(({ object }) => object.cluster === of)

/** Of one cluster, only what its rows say: how many of its machines are ready is on its own pages. */
function headFor(home: HomeTopic, of: string | undefined): Head {
  if (of === undefined) return home.head
  const { act, wait, unknown } = cardsOf(rowsFor(home, of))
  const [{ first } = {}] = act
  const many = act.length === 1 ? '1 thing needs attention' : `${act.length} things need attention`
  const sentence =
    first === undefined
      ? `Nothing ${unknown.length === 0 ? '' : 'known '}needs attention in ${of}.`
      : `${many} in ${of}${act.length === 1 ? '' : ', the first'}: ${first.title ?? first.text}`
  return {
    ...home.head,
    sentence,
    needsAttention: act.length,
    waits: wait.length,
    unknown: unknown.length,
    isPart: true,
  }
}

/** What the page shows as cards, the worst first. */
function cardsOf(rows: readonly AttentionRow[]) {
  const of = (wanted: AttentionRow['weight']) => causesOf(rows.filter(({ weight }) => weight === wanted))
  return { act: of('Act'), wait: of('Wait'), unknown: of('Unknown') }
}

/** Connection states in which the page shows the present. */
const NOW: ReadonlySet<string> = new Set(['Connecting', 'Live'])

/** Without machines, or while anything is unknown, the fleet is not shown as healthy; an older server does not report whether there are machines. */
const toneOf = (head: HomeHead): Tone => {
  if (head.needsAttention > 0) return 'bad'
  return head.waits > 0 || head.unknown !== 0 || head.machines.total === 0 ? 'wait' : 'good'
}

interface BoardProps extends Pick<HomeTopic, 'rows'> {
  readonly changes: readonly PipelineRow[]
  readonly head: Head
}

function Board({ head, rows, changes }: BoardProps): VNode {
  const { route } = useApp()
  const { act, wait, unknown } = cardsOf(rows)
  return h(
    'div',
    { class: 'wide' },
    h(
      'div',
      { class: 'figures' },
      head.isPart !== true && [
        figure(
          'Machines ready',
          `${count(head.machines.ready)} of ${count(head.machines.total)}`,
          to(route, 'machines'),
        ),
        figure('Clusters connected', `${head.clusters.connected} of ${head.clusters.total}`, to(route, 'clusters')),
      ],
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
    act.length > 0 && h(Causes, { title: 'Needs attention', causes: act }),
    wait.length > 0 && h(Causes, { title: 'Waits, and continues by itself', causes: wait }),
    unknown.length > 0 && h(Causes, { title: 'Not known', causes: unknown }),
    h(Changes, {
      rows: changes,
      told: new Set(rows.flatMap(({ weight, commit }) => (weight === 'Act' ? (commit?.commit ?? []) : []))),
    }),
  )
}

const figure = (label: string, value: string, href?: string): VNode =>
  h(
    href === undefined ? 'div' : 'a',
    { class: 'sheet figure', ...defined({ href }) },
    h('b', {}, value),
    h('span', { class: 'soft' }, label),
  )

const Causes = ({ title, causes }: { readonly title: string; readonly causes: readonly Cause[] }): VNode =>
  h(
    'section',
    { class: 'stack', 'aria-label': title },
    h('h2', {}, title),
    h(
      'ul',
      { class: 'sheet items' },
      causes.map((cause) => h(CauseCard, { key: cause.id, cause })),
    ),
  )
