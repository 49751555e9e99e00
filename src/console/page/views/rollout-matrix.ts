// The sets of all clusters at once: a row for each set, a tile for each cluster, failed ones first; a version has one color everywhere.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { clustersWith, useApp, useTopics } from '../app.ts'
import { AsTable, Page } from '../frame.ts'
import type { SetsTopic } from '../../protocol.ts'
import type { SetRow } from '../../set-topics.ts'
import { topicOf } from '../../topic-name.ts'
import { Bar } from '../parts/clock.ts'
import { Mark, toneOf } from '../parts/mark.ts'
import { Pairs } from '../parts/pairs.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table, byName } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { count } from '../parts/time.ts'
import { Version } from '../parts/version.ts'
import { to } from '../router.ts'

/** More lines do not help. */
const MOST_COMMANDS = 5

export function AllSets(): VNode {
  const { route, session } = useApp()
  const allowed = clustersWith(session, 'sets').map(({ name }) => name)
  const clusters = route.cluster === undefined ? allowed : [route.cluster]
  const loaded = useTopics<SetsTopic>(clusters.map((name) => topicOf('sets', name)))
  const rows = loaded.flatMap((l) => (l.state === 'Ready' ? l.value.rows : []))
  const first = loaded.find(({ state }) => state !== 'Ready')
  const isAny = loaded.some(({ state }) => state === 'Ready')
  return h(
    Page,
    {
      title: route.cluster === undefined ? 'Rollouts' : `Rollouts in ${route.cluster}`,
      scope: { family: 'sets', cluster: route.cluster, all: true },
      sentence: isAny && rows.length > 0 && summary(rows),
      tools: h(AsTable, {}),
      commands: clusters
        .map((name) => `kubenode get machinecomponentsets --context ${word(name)}`)
        .slice(0, MOST_COMMANDS),
    },
    !isAny && first !== undefined
      ? shown(first, () => null)
      : rows.length === 0
        ? h(Notice, { title: 'No sets' }, 'A commit that declares a MachineComponentSet creates one.')
        : route.params['as'] === 'table'
          ? h(SetTable, { rows, isMany: clusters.length > 1 })
          : h(Matrix, { rows }),
  )
}

function summary(rows: readonly SetRow[]): string {
  const of = (wanted: (row: SetRow) => boolean): number => rows.filter(wanted).length
  const stopped = of(({ phase }) => toneOf(phase) === 'bad')
  const moving = of(({ phase }) => toneOf(phase) === 'busy')
  const clusters = new Set(rows.map(({ object }) => object.cluster)).size
  const parts = [
    `${count(rows.length)} ${rows.length === 1 ? 'set' : 'sets'} in ${count(clusters)} ${clusters === 1 ? 'cluster' : 'clusters'}`,
    ...(stopped > 0 ? [`${stopped} stopped`] : []),
    ...(moving > 0 ? [`${moving} rolling out`] : []),
  ]
  return `${parts.join(', ')}.`
}

const RANKS: Readonly<Record<string, number>> = { bad: 0, still: 0, busy: 1, wait: 2, mend: 3, rest: 3, good: 4 }
const rank = ({ phase, failed }: SetRow): number => (failed > 0 ? 0 : (RANKS[toneOf(phase)] ?? 3))

const worstFirst = (a: SetRow, b: SetRow): number => rank(a) - rank(b) || byName(a.object.cluster, b.object.cluster)

function Matrix({ rows }: { readonly rows: readonly SetRow[] }): VNode {
  const sets = [...Map.groupBy(rows, ({ object }) => object.name)]
    .map(([name, own]) => ({ name, own: own.toSorted(worstFirst) }))
    .toSorted((a, b) => Math.min(...a.own.map(rank)) - Math.min(...b.own.map(rank)) || byName(a.name, b.name))
  return h(
    'div',
    { class: 'wide' },
    sets.map(({ name, own }) =>
      h(
        'section',
        { key: name, class: 'stack', 'aria-label': `Set ${name}` },
        h('div', { class: 'row' }, h('h2', {}, name), h(Versions, { rows: own })),
        h(
          'ul',
          { class: 'tiles' },
          own.map((row) => h('li', { key: row.object.cluster }, h(Tile, { row }))),
        ),
      ),
    ),
  )
}

/** Each version with the number of clusters that want it; equal everywhere, the number says nothing. */
function Versions({ rows }: { readonly rows: readonly SetRow[] }): VNode {
  const pairs = rows.flatMap(({ components }) => components)
  const groups = [...Map.groupBy(pairs, ({ name, version }) => `${name} ${version}`).values()].flatMap((of) =>
    of[0] === undefined ? [] : [{ ...of[0], clusters: of.length }],
  )
  return h(
    'ul',
    { class: 'row small', 'aria-label': 'Versions' },
    groups
      .toSorted((a, b) => byName(a.name, b.name) || byName(b.version, a.version))
      .map(({ name, version, clusters }) =>
        h(
          'li',
          { key: `${name} ${version}` },
          h(Version, { name, version }),
          clusters < rows.length && h('span', { class: 'soft' }, ` in ${clusters} of ${rows.length}`),
        ),
      ),
  )
}

function Tile({ row }: { readonly row: SetRow }): VNode {
  const { route } = useApp()
  const { object, phase, components, updated, total, failed, failure, wait, isHeld } = row
  const isBad = failed > 0 || toneOf(phase) === 'bad'
  return h(
    'div',
    { class: isBad ? 'sheet tile bad' : 'sheet tile' },
    h(
      'div',
      { class: 'row apart' },
      h(
        'a',
        { href: to(route, 'rollouts', { cluster: object.cluster, name: object.name }), 'data-row': '', class: 'name' },
        object.cluster,
      ),
      h('span', { class: 'small' }, h(Mark, { phase }), isHeld && ' on hold'),
    ),
    h(Steps, { row }),
    h(
      'div',
      { class: 'row small apart' },
      h(
        'span',
        { class: 'row' },
        components.map(({ name, version }) => h(Version, { key: name, name, version })),
      ),
      h('span', { class: 'soft nowrap' }, `${updated} of ${total}${failed > 0 ? `, ${failed} failed` : ''}`),
    ),
    wait?.seen !== undefined && h('p', { class: 'small soft tile-wait', title: wait.seen }, failure ?? wait.seen),
  )
}

/** The steps as segments that fill; a set without a rollout is one bar. */
function Steps({ row: { rungs = [], updated, total, failed } }: { readonly row: SetRow }): VNode {
  const done = rungs.filter(({ state }) => state === 'Passed').length
  if (rungs.length === 0)
    return h(Bar, {
      share: updated / Math.max(1, total),
      tone: failed > 0 ? 'bad' : 'good',
      label: `${updated} of ${total} machines up to date`,
    })
  return h(
    'span',
    { class: 'steps', role: 'img', 'aria-label': `${done} of ${rungs.length} steps done` },
    rungs.map(({ step, machines, state }) =>
      h('i', { key: step, class: `step-${state.toLowerCase()}`, title: `step ${step + 1}: ${machines} machines` }),
    ),
  )
}

const SetTable = ({ rows, isMany }: { readonly rows: readonly SetRow[]; readonly isMany: boolean }): VNode => {
  const { route } = useApp()
  return h(Table<SetRow>, {
    caption: 'Sets',
    rows: rows.toSorted(worstFirst),
    idOf: ({ object }) => `${object.cluster}/${object.name}`,
    href: ({ object }) => to(route, 'rollouts', { cluster: object.cluster, name: object.name }),
    columns: [
      { id: 'name', title: 'Set', of: (s) => s.object.name, by: (s) => s.object.name },
      ...(isMany
        ? [
            {
              id: 'cluster',
              title: 'Cluster',
              of: (s: SetRow) => s.object.cluster,
              by: (s: SetRow) => s.object.cluster,
            },
          ]
        : []),
      {
        id: 'phase',
        title: 'Phase',
        of: (s) => h('span', { class: 'row' }, h(Mark, { phase: s.phase }), s.isHeld && 'on hold'),
        by: (s) => s.phase,
      },
      {
        id: 'components',
        title: 'Components',
        of: (s) => h(Pairs, { of: s.components.map((c) => `${c.name} ${c.version}`) }),
      },
      {
        id: 'updated',
        title: 'Up to date',
        of: (s) => `${s.updated} of ${s.total}`,
        by: (s) => s.updated / Math.max(1, s.total),
      },
      {
        id: 'failed',
        title: 'Failed',
        isNumber: true,
        of: (s) => (s.failed === 0 ? '' : s.failed),
        by: (s) => s.failed,
      },
      { id: 'wait', title: 'Waits for', of: (s) => s.wait?.seen ?? '' },
    ],
  })
}
