// Clusters: control planes with their versions, certificates and snapshots, and the state of their machines.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { hubOf, useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { ClustersTopic } from '../../protocol.ts'
import type { ClusterRow } from '../../topics.ts'
import { Bar, Since, Until } from '../parts/clock.ts'
import { LifeLink } from '../parts/life-link.ts'
import { Mark, spaced } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { span } from '../parts/time.ts'
import { WaitLines } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'

export function Clusters(): VNode {
  const { session, route } = useApp()
  const hub = word(hubOf(session))
  const loaded = useTopic<ClustersTopic>('clusters')
  return h(
    Page,
    {
      title: 'Clusters',
      sentence: loaded.state === 'Ready' ? summary(loaded.value.rows) : undefined,
      tools:
        session.canPrepare &&
        h('a', { href: to(route, 'prepare', { params: { change: 'import' } }) }, 'Import nodes by a commit'),
      commands: [`kubenode get clusters -A --context ${hub}`],
    },
    shown(loaded, ({ rows }) =>
      rows.length === 0
        ? h(Notice, { title: 'No clusters' }, 'A commit that declares a Cluster creates one.')
        : h(Board, { rows }),
    ),
  )
}

const summary = (rows: readonly ClusterRow[]): string => {
  const away = rows.filter(({ state }) => state !== 'Connected')
  return `${rows.length - away.length} of ${rows.length} connected${away.length === 0 ? '' : `; not connected: ${away.map(({ name }) => name).join(', ')}`}.`
}

function Board({ rows }: { readonly rows: readonly ClusterRow[] }): VNode {
  const { route, session } = useApp()
  const waiting = rows.filter(({ wait }) => wait !== undefined)
  const hosted = rows.filter(
    ({ history, rotations, snapshots }) => history.length + rotations.length > 0 || snapshots !== undefined,
  )
  return h(
    'div',
    { class: 'wide' },
    waiting.map((c) =>
      h(
        'section',
        { key: c.id, class: 'sheet pad stack', 'aria-label': `What ${c.name} waits for` },
        h('h2', {}, c.name),
        h(WaitLines, { wait: c.wait }),
      ),
    ),
    h(Table<ClusterRow>, {
      caption: 'Clusters',
      rows,
      idOf: ({ id }) => id,
      href: ({ name }) => to(route, 'machines', { cluster: name }),
      columns: [
        { id: 'name', title: 'Cluster', of: (c) => `${c.name}${c.isHub ? ' (hub)' : ''}`, by: (c) => c.name },
        {
          id: 'state',
          title: 'State',
          of: (c) =>
            h(
              'span',
              {},
              h(Mark, { phase: c.state }),
              c.message !== undefined && h('span', { class: 'soft' }, ` ${c.message}`),
            ),
          by: (c) => c.state,
        },
        {
          id: 'phase',
          title: 'Phase',
          of: (c) => (c.phase === undefined ? '' : h(Mark, { phase: c.phase })),
          by: (c) => c.phase ?? '',
        },
        { id: 'stage', title: 'Stage', of: (c) => c.stage ?? '', by: (c) => c.stage ?? '' },
        { id: 'version', title: 'Version', of: (c) => c.version ?? '', by: (c) => c.version ?? '' },
        { id: 'attention', title: 'Attention', of: attention, by: (c) => -c.attention.act },
        { id: 'machines', title: 'Machines', of: (c) => machines(c), by: (c) => c.machines.total },
        {
          id: 'credentials',
          title: 'Credentials end',
          of: (c) => c.credentialsEnd !== undefined && h(Until, { at: c.credentialsEnd }),
          by: (c) => c.credentialsEnd ?? Infinity,
        },
        ...(session.isRecorded
          ? [
              {
                id: 'life',
                title: 'Past',
                isWhole: true,
                of: (c: ClusterRow) => h(LifeLink, { cluster: hubOf(session), kind: 'Cluster', name: c.name }),
              },
            ]
          : []),
        {
          id: 'hold',
          title: 'Hold',
          isAct: true,
          of: (c) =>
            h(HoldButton, {
              cluster: c.name,
              target: { kind: 'Cluster', name: c.name },
              effects: ['Freeze'],
              label: 'Freeze…',
            }),
        },
      ],
    }),
    hosted.map((c) => h(Details, { key: c.id, cluster: c })),
  )
}

/** Partly unknown is not healthy. */
const attention = ({ attention: { act, wait, unknown } }: ClusterRow): VNode =>
  act > 0
    ? h(Mark, { phase: act === 1 ? '1 needs attention' : `${act} need attention`, tone: 'bad' })
    : unknown > 0
      ? h(Mark, { phase: 'known in part', tone: 'still' })
      : wait > 0
        ? h(Mark, { phase: `${wait} waiting`, tone: 'wait' })
        : h(Mark, { phase: 'nothing', tone: 'good' })

const machines = ({ machines: m }: ClusterRow): VNode | string => {
  if (m.total === 0) return ''
  const rest = [m.silent > 0 && `${m.silent} silent`, m.repairing > 0 && `${m.repairing} repairing`].filter(
    (t) => t !== false,
  )
  const text = [`${m.ready} of ${m.total} ready`, ...rest].join(', ')
  return h('div', {}, h('span', {}, text), h(Bar, { share: m.ready / m.total, tone: 'good', label: text }))
}

const Details = ({ cluster: c }: { readonly cluster: ClusterRow }): VNode =>
  h(
    'section',
    { class: 'sheet pad stack', 'aria-label': `Control plane of ${c.name}` },
    h('h2', {}, `Control plane of ${c.name}`),
    h(
      'p',
      { class: 'soft name' },
      [c.endpoint, ...c.versions.map((v) => `${v.part} ${v.version}`)].filter((t) => t !== undefined).join(' · '),
    ),
    c.rotations.length > 0 &&
      h(
        'ul',
        { 'aria-label': 'Rotations' },
        c.rotations.map(({ name, phase, message }) =>
          h('li', { key: name }, h('strong', {}, spaced(name)), ' ', h(Mark, { phase }), ' ', message),
        ),
      ),
    c.snapshots !== undefined &&
      h(
        'p',
        {},
        c.snapshots.last === undefined ? 'No snapshot yet' : ['Last snapshot ', h(Since, { at: c.snapshots.last })],
        ', next ',
        h(Until, { at: c.snapshots.next }),
        c.snapshots.message !== undefined && `: ${c.snapshots.message}`,
      ),
    c.history.length > 0 &&
      h(
        'ol',
        { class: 'stack', 'aria-label': 'Versions and snapshots' },
        c.history.map((v) =>
          h(
            'li',
            { key: v.version + String(v.startedAt) },
            h('strong', {}, v.version),
            ' installed ',
            h(Since, { at: v.startedAt }),
            v.completedAt === undefined ? ', not completed' : ` in ${span(v.completedAt - v.startedAt)}`,
            v.snapshot !== undefined && [', snapshot ', h('code', {}, v.snapshot)],
            v.message !== undefined && `: ${v.message}`,
          ),
        ),
      ),
  )
