// Where the newest change of each track is, in one line: what a calm fleet got last, and what is on its way.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { PipelineRow, ReleaseRow, StageRow } from '../../topics.ts'
import { Since } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { commitTitled, shortCommit } from '../parts/wait.ts'
import { to } from '../router.ts'

/** The pipeline has them all. */
const MOST_TRACKS = 5

interface Props {
  readonly rows: readonly PipelineRow[]
  /** Commits that a card tells about. */
  readonly told: ReadonlySet<string>
}

export function Changes({ rows, told }: Props): VNode | null {
  const newest = rows
    .filter((row): row is ReleaseRow => row.row === 'Release' && row.isNewest && !told.has(row.commit))
    .toSorted((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0))
    .slice(0, MOST_TRACKS)
  if (newest.length === 0) return null
  return h(
    'section',
    { class: 'stack', 'aria-label': 'Latest changes' },
    h('h2', {}, 'Latest changes'),
    h(
      'ul',
      { class: 'sheet items' },
      newest.map((release) => h(Change, { key: release.id, release, stage: stageOf(release, rows) })),
    ),
  )
}

const REACHED: ReadonlySet<string> = new Set(['Progressing', 'Soaking', 'Failed', 'Succeeded'])

/** The furthest stage that the change has reached. */
const stageOf = ({ id }: ReleaseRow, rows: readonly PipelineRow[]): StageRow | undefined =>
  rows
    .filter((row): row is StageRow => row.row === 'Stage' && row.release === id && REACHED.has(row.phase))
    .toSorted((a, b) => b.order - a.order)[0]

function Change({ release, stage }: { readonly release: ReleaseRow; readonly stage: StageRow | undefined }): VNode {
  const { route } = useApp()
  const { object, commit, track, phase, startedAt, finishedAt } = release
  return h(
    'li',
    { class: 'cause-head' },
    h(
      'span',
      { class: 'row' },
      h(Mark, { phase }),
      h(
        'a',
        { href: to(route, 'pipeline', { params: { release: object.name } }), 'data-row': '', class: 'name' },
        h('span', { class: 'mono' }, shortCommit(commit)),
        ' ',
        commitTitled(release),
      ),
    ),
    h(
      'span',
      { class: 'row small soft' },
      h('span', {}, track),
      stage !== undefined && phase !== 'Succeeded' && h('span', {}, stage.name),
      stage !== undefined && phase !== 'Succeeded' && h(Mark, { phase: stage.phase }),
      stage !== undefined && stage.total > 0 && h('span', {}, `${stage.healthy} of ${stage.total} healthy`),
      h(Since, { at: finishedAt ?? startedAt }),
    ),
  )
}
