// Commits: how far each has come; for one commit, its releases, and commands for plan, diff and trace.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { hubOf, useApp, useTopic } from '../app.ts'
import { Page } from '../frame.ts'
import type { CommitsTopic } from '../../protocol.ts'
import type { CommitRow } from '../../topics.ts'
import { Ago, Since } from '../parts/clock.ts'
import { NothingOnHub } from '../parts/elsewhere.ts'
import { Mark } from '../parts/mark.ts'
import { shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { commitTitled, ObjectLink, shortCommit } from '../parts/wait.ts'
import { to } from '../router.ts'

type Placed = CommitRow['releases'][number]

export function Commits(): VNode {
  const { route, session } = useApp()
  const hub = word(hubOf(session))
  const loaded = useTopic<CommitsTopic>('commits')
  const { name } = route
  if (name === undefined)
    return h(
      Page,
      {
        title: 'Commits',
        sentence: 'Each commit that sync read, the newest first.',
        commands: [`kubenode release status --context ${hub}`],
      },
      shown(loaded, ({ rows }) =>
        rows.length === 0
          ? h(
              NothingOnHub,
              { title: 'No commits yet' },
              'A FleetSource names the repository; its first commit appears here.',
            )
          : h(List, { rows }),
      ),
    )
  const rows = loaded.state === 'Ready' ? loaded.value.rows.filter(({ commit }) => commit.startsWith(name)) : []
  return h(
    Page,
    {
      title: `Commit ${shortCommit(name)}`,
      tools: [
        h('a', { href: to(route, 'commits') }, 'All commits'),
        h('a', { href: to(route, 'plan', { name }) }, 'Plan and diff'),
      ],
      commands: [
        `kubenode plan --commit ${word(name)}`,
        `kubenode diff ${word(name)}~1..${word(name)}`,
        `kubenode trace ${word(name)} --context ${hub}`,
        `git revert --no-edit ${word(name)}`,
      ],
    },
    shown(loaded, () =>
      rows.length === 0
        ? h(
            NothingOnHub,
            { title: 'This commit is not known here' },
            'Sync has not read it, or it is older than the releases that are kept.',
          )
        : h(
            'div',
            { class: 'wide' },
            rows.map((row) => h(One, { key: row.id, row })),
          ),
    ),
  )
}

const countsOf = (clusters: Placed['clusters']): VNode =>
  h(
    'span',
    { class: 'row' },
    Object.entries(clusters).map(([phase, n]) =>
      h('span', { key: phase, class: 'nowrap' }, h(Mark, { phase }), ` ${n}`),
    ),
  )

function List({ rows }: { readonly rows: readonly CommitRow[] }): VNode {
  const { route } = useApp()
  return h(Table<CommitRow>, {
    caption: 'Commits',
    rows: rows.toSorted((a, b) => (b.firstSeen ?? 0) - (a.firstSeen ?? 0)),
    idOf: ({ id }) => id,
    href: ({ commit }) => to(route, 'commits', { name: commit }),
    columns: [
      { id: 'commit', title: 'Commit', of: (c) => h('code', {}, shortCommit(c.commit)), by: (c) => c.commit },
      { id: 'subject', title: 'Subject', of: (c) => c.subject ?? '', by: (c) => c.subject ?? '' },
      { id: 'author', title: 'Author', of: (c) => c.author ?? '', by: (c) => c.author ?? '' },
      {
        id: 'seen',
        title: 'Read',
        of: (c) => h('span', {}, h(Ago, { at: c.firstSeen }), ' ago'),
        isWhole: true,
        by: (c) => -(c.firstSeen ?? 0),
      },
      { id: 'source', title: 'Source', of: (c) => c.source, by: (c) => c.source },
      {
        id: 'revert',
        title: 'Reverts',
        of: (c) =>
          c.revertOf === undefined
            ? ''
            : h('span', {}, h('code', {}, shortCommit(c.revertOf)), ` ${c.revertedSubject ?? ''}`),
      },
      {
        id: 'releases',
        title: 'Releases',
        of: (c) =>
          h(
            'ul',
            {},
            c.releases.map((r) => h('li', { key: r.track, class: 'row' }, r.track, h(Mark, { phase: r.phase }))),
          ),
      },
      {
        id: 'clusters',
        title: 'Clusters',
        of: (c) =>
          h(
            'ul',
            {},
            c.releases.map((r) => h('li', { key: r.track }, countsOf(r.clusters))),
          ),
      },
      { id: 'signer', title: 'Signed by', of: (c) => c.signer ?? '', by: (c) => c.signer ?? '' },
    ],
  })
}

const One = ({ row }: { readonly row: CommitRow }): VNode =>
  h(
    'section',
    { class: 'sheet pad stack', 'aria-label': `Commit in ${row.source}` },
    h(
      'p',
      {},
      h('code', { class: 'name' }, row.commit),
      ` from ${row.source} `,
      h('span', { class: 'soft' }, h(Since, { at: row.firstSeen })),
    ),
    commitTitled(row) !== '' && h('p', {}, commitTitled(row)),
    h('p', { class: 'soft name' }, row.signer === undefined ? 'No signature is known.' : `Signed by ${row.signer}`),
    row.revertOf !== undefined &&
      h('p', {}, 'Reverts ', h('code', {}, shortCommit(row.revertOf)), ` ${row.revertedSubject ?? ''}`),
    h(
      'ul',
      { class: 'stack', 'aria-label': 'Releases' },
      row.releases.map((r) =>
        h(
          'li',
          { key: r.track, class: 'row' },
          h(ObjectLink, { object: r.object }),
          h(Mark, { phase: r.phase }),
          countsOf(r.clusters),
        ),
      ),
    ),
  )
