// A commit's plan: first what must not be overlooked, then what is certain, what hubs recorded and, on request, the prediction.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useAnswer, useApp } from '../app.ts'
import { AsTable, Page } from '../frame.ts'
import type { CertainPlan, PlanAnswer, PlannedClusters, PlanRecord, RedLine } from '../../plan.ts'
import { Ago } from '../parts/clock.ts'
import { DiffLines } from '../parts/diff.ts'
import { Mark } from '../parts/mark.ts'
import { PredictedPart } from '../parts/predicted.ts'
import { Notice, sentence, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { Terminal } from '../parts/terminal.ts'
import { LiftLine, ObjectLink, shortCommit } from '../parts/wait.ts'
import { hrefOf, to, withParams } from '../router.ts'

export function Plan(): VNode {
  const { route } = useApp()
  const { name, params } = route
  const { base = '', predict = '' } = params
  const query = new URLSearchParams({ commit: name ?? '', base, predict })
  const loaded = useAnswer<PlanAnswer>(name === undefined ? undefined : `/api/plan?${query}`)
  if (name === undefined)
    return h(
      Page,
      { title: 'Plan of a commit', commands: ['kubenode plan main..HEAD', 'kubenode plan --dirty'] },
      h(
        Notice,
        { title: 'Choose a commit' },
        h('a', { href: to(route, 'commits') }, 'Commits that sync read'),
        ', or open #/plan/BRANCH for one that no hub follows yet.',
      ),
    )
  const certain =
    loaded.state === 'Ready' && loaded.value.certain.state === 'Made' ? loaded.value.certain.value : undefined
  return h(
    Page,
    {
      title: `Plan of ${shortCommit(certain?.commit ?? name)}`,
      sentence: certain === undefined ? undefined : `${certain.subject}: ${certain.summary}`,
      tools: [
        h('a', { href: to(route, 'commits', { name: certain?.commit ?? name }) }, 'The commit and its releases'),
        certain !== undefined && h(AsTable, {}),
      ],
      commands: loaded.state === 'Ready' ? loaded.value.commands : [],
    },
    shown(loaded, (answer) => h(Answer, { answer })),
  )
}

function Answer({ answer }: { readonly answer: PlanAnswer }): VNode {
  const { route } = useApp()
  const { certain, predicted, record } = answer
  const red = [...(certain.state === 'Made' ? certain.value.red : []), ...record.flatMap(({ deletions }) => deletions)]
  return h(
    'div',
    { class: 'wide' },
    red.length > 0 && h(Red, { red }),
    certain.state === 'Made'
      ? h(CertainPart, { plan: certain.value })
      : h(
          'section',
          { class: 'sheet pad stack', 'aria-label': 'Certain' },
          h('h2', {}, 'What it changes is not on record'),
          certain.state === 'Absent' && h('p', {}, sentence(certain.why)),
        ),
    h(Recorded, { record }),
    h(
      'section',
      { class: 'sheet pad stack', 'aria-label': 'Predicted' },
      h('h2', {}, 'Predicted'),
      predicted.state === 'Unasked'
        ? h(
            'p',
            { class: 'stack' },
            h(
              'span',
              { class: 'soft' },
              'Machines, steps and minutes are predicted from the clusters as they are now. It reads them once and may take half a minute.',
            ),
            h('br', {}),
            h('a', { href: hrefOf(withParams(route, { predict: '1' })) }, 'Predict now'),
          )
        : predicted.state === 'Absent'
          ? h('p', {}, sentence(predicted.why))
          : h(PredictedPart, { plan: predicted.value }),
    ),
  )
}

const Red = ({ red }: { readonly red: readonly RedLine[] }): VNode =>
  h(
    'section',
    { class: 'sheet pad stack verdict bad', 'aria-label': 'Read this first' },
    h('h2', {}, 'Read this first'),
    h(
      'ul',
      { class: 'stack' },
      red.map(({ text, command }) =>
        h(
          'li',
          { key: text, class: 'stack' },
          h('p', { class: 'name' }, text),
          command !== undefined && h(LiftLine, { lift: { text: command, isCommand: true } }),
        ),
      ),
    ),
  )

function CertainPart({ plan }: { readonly plan: CertainPlan }): VNode {
  const { route } = useApp()
  const { base, author, at, digest, signature, orange, clusters } = plan
  return h(
    'section',
    { class: 'sheet pad stack', 'aria-label': 'Certain' },
    h('h2', {}, 'Certain'),
    h(
      'p',
      { class: 'soft name' },
      `${author}, `,
      h(Ago, { at }),
      ' ago, ',
      base === undefined
        ? 'the first commit'
        : ['against ', h('a', { href: to(route, 'plan', { name: base }) }, shortCommit(base))],
      `, ${signature ?? 'not signed'}.`,
    ),
    orange.map((text) => h('p', { key: text, class: 'fail name' }, text)),
    clusters.length === 0
      ? h('p', {}, 'Both commits render to the same objects: no cluster changes.')
      : route.params['as'] === 'table'
        ? h(ObjectTable, { clusters })
        : clusters.map((group) => h(Group, { key: group.id, group })),
    h('p', { class: 'small soft' }, 'Digest of this change, equal for the same change at any time:'),
    h(Terminal, { command: digest }),
  )
}

const counts = ({ added, changed, removed, unchanged }: PlannedClusters): string =>
  `${added} to add, ${changed} to change, ${removed} to remove, ${unchanged} unchanged`

const Group = ({ group }: { readonly group: PlannedClusters }): VNode =>
  h(
    'section',
    { class: 'stack', 'aria-label': group.clusters.join(', ') },
    h('h3', {}, group.clusters.join(', ')),
    h(
      'p',
      {},
      `${counts(group)}${group.clusters.length > 1 ? ` in each of these ${group.clusters.length} clusters` : ''}`,
    ),
    h(DiffLines, { lines: group.lines, more: group.moreLines, label: `Changes in ${group.clusters.join(', ')}` }),
  )

interface ObjectRow {
  readonly id: string
  readonly clusters: string
  readonly change: string
  readonly object: string
  readonly fields: ComponentChildren
}

const WORDS = { added: 'Added', changed: 'Changed', removed: 'Removed' } as const
const TONES = { added: 'good', changed: 'wait', removed: 'bad' } as const

const ObjectTable = ({ clusters }: { readonly clusters: readonly PlannedClusters[] }): VNode =>
  h(Table<ObjectRow>, {
    caption: 'Objects that change',
    rows: clusters.flatMap((group) =>
      group.objects.map((o) => ({
        id: `${group.id}/${o.object}`,
        clusters: group.clusters.join(', '),
        change: o.change,
        object: o.object,
        fields: h(
          'ul',
          {},
          o.fields.map((f) => h('li', { key: f, class: 'mono small name' }, f)),
          o.more > 0 && h('li', { class: 'soft' }, `and ${o.more} more fields`),
        ),
      })),
    ),
    idOf: ({ id }) => id,
    columns: [
      { id: 'object', title: 'Object', of: (r) => r.object, by: (r) => r.object },
      {
        id: 'change',
        title: 'Change',
        of: ({ change }) =>
          h(Mark, { phase: WORDS[change as keyof typeof WORDS], tone: TONES[change as keyof typeof TONES] }),
        by: (r) => r.change,
      },
      { id: 'clusters', title: 'Clusters', of: (r) => r.clusters, by: (r) => r.clusters },
      { id: 'fields', title: 'Fields', of: (r) => r.fields },
    ],
  })

const Recorded = ({ record }: { readonly record: readonly PlanRecord[] }): VNode =>
  h(
    'section',
    { class: 'sheet pad stack', 'aria-label': 'Recorded on the hub' },
    h('h2', {}, 'Recorded on the hub'),
    record.length === 0
      ? h(
          'p',
          { class: 'soft' },
          'No release of this commit: sync has not followed it, or the release is no longer kept.',
        )
      : h(
          'ul',
          { class: 'stack', 'aria-label': 'Releases' },
          record.map((r) => h('li', { key: r.object.name, class: 'stack' }, h(Release, { record: r }))),
        ),
  )

const Release = ({ record: r }: { readonly record: PlanRecord }): VNode =>
  h(
    'div',
    {},
    h('p', { class: 'row' }, h(ObjectLink, { object: r.object }), h(Mark, { phase: r.phase })),
    h(
      'p',
      { class: 'soft' },
      r.changed === undefined
        ? `Track ${r.track} of ${r.source}, ${r.clusters} clusters; which of them changed is not known: the release before is no longer kept.`
        : r.changed.length === 0
          ? `Track ${r.track} of ${r.source} changes no cluster.`
          : `Track ${r.track} of ${r.source} changes ${r.changed.join(', ')} (${r.changed.length} of ${r.clusters}).`,
    ),
  )
