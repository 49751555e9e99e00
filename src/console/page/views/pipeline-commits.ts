// The last commits as rows with their way through the stages: who, what, how far, and how long it took.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { ReleaseRow, StageRow } from '../../topics.ts'
import { Ago } from '../parts/clock.ts'
import { Mark, shape, spaced, toneOf } from '../parts/mark.ts'
import { Table } from '../parts/table.ts'
import { span } from '../parts/time.ts'
import { shortCommit } from '../parts/wait.ts'
import { to } from '../router.ts'

/** Older ones are on the page of commits. */
const MOST_ROWS = 20

interface Props {
  readonly releases: readonly ReleaseRow[]
  readonly stages: readonly StageRow[]
}

export function CommitWays({ releases, stages }: Props): VNode {
  const { route } = useApp()
  const rows = releases.toSorted((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0)).slice(0, MOST_ROWS)
  const byRelease = Map.groupBy(stages, ({ release }) => release)
  const names = columnsOf(rows.flatMap(({ id }) => byRelease.get(id) ?? []))
  const isMany = new Set(rows.map(({ track }) => track)).size > 1
  return h(Table<ReleaseRow>, {
    caption: 'The last commits and their way through the stages',
    rows,
    prefix: 'ways-',
    idOf: ({ id }) => id,
    href: ({ object }) => to(route, 'pipeline', { params: { release: object.name } }),
    columns: [
      { id: 'commit', title: 'Commit', of: (r) => h('code', {}, shortCommit(r.commit)), by: (r) => r.commit },
      { id: 'subject', title: 'Message', of: (r) => r.subject ?? '', by: (r) => r.subject ?? '' },
      { id: 'author', title: 'Author', of: (r) => r.author ?? '', by: (r) => r.author ?? '' },
      {
        id: 'approved',
        title: 'Approved by',
        of: (r) => r.approvedBy?.join(', '),
        by: (r) => r.approvedBy?.join(', ') ?? '',
      },
      ...(isMany
        ? [{ id: 'track', title: 'Track', of: (r: ReleaseRow) => r.track, by: (r: ReleaseRow) => r.track }]
        : []),
      ...names.map((name) => ({
        id: `stage-${name}`,
        title: name,
        isWhole: true,
        of: (r: ReleaseRow) => h(Cell, { stage: byRelease.get(r.id)?.find((s) => s.name === name) }),
      })),
      {
        id: 'phase',
        title: 'Result',
        of: (r) => h(Mark, { phase: r.phase }),
        by: (r) => r.phase,
      },
      {
        id: 'lead',
        title: 'Lead time',
        isWhole: true,
        of: (r) => h(Lead, { release: r }),
        by: (r) => (r.finishedAt ?? Number.MAX_SAFE_INTEGER) - (r.startedAt ?? 0),
      },
    ],
  })
}

/** The names of all stages, in the order of their pipelines. */
function columnsOf(stages: readonly StageRow[]): readonly string[] {
  const order = new Map<string, number>()
  for (const { name, order: at, total } of stages) if (total > 0) order.set(name, Math.min(at, order.get(name) ?? at))
  return [...order].toSorted(([, a], [, b]) => a - b).map(([name]) => name)
}

function Cell({ stage }: { readonly stage: StageRow | undefined }): VNode | null {
  if (stage === undefined) return null
  const { phase, startedAt, finishedAt } = stage
  return h(
    'span',
    { class: 'mark', title: spaced(phase) },
    shape(toneOf(phase)),
    startedAt !== undefined && finishedAt !== undefined
      ? h('span', {}, span(finishedAt - startedAt), h('span', { class: 'off-screen' }, ' ', spaced(phase)))
      : h('span', { class: 'soft' }, spaced(phase)),
  )
}

function Lead({ release: { startedAt, finishedAt } }: { readonly release: ReleaseRow }): VNode | null {
  if (startedAt === undefined) return null
  return finishedAt === undefined
    ? h('span', { class: 'soft' }, h(Ago, { at: startedAt }), ' so far')
    : h('span', {}, span(finishedAt - startedAt))
}
