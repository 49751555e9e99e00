// The release pipeline: one release on its way through the stages, what stops it, and the last commits.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { clustersWith, hubOf, useApp, useTopic } from '../app.ts'
import { AsTable, Choice, Page } from '../frame.ts'
import type { HomeTopic, PipelineTopic } from '../../protocol.ts'
import type { PipelineRow, PlaceRow, ReleaseRow, StageRow } from '../../topics.ts'
import { CauseCard } from '../parts/cause-card.ts'
import { causesOf } from '../parts/causes.ts'
import { Ago, Since } from '../parts/clock.ts'
import { NothingOnHub } from '../parts/elsewhere.ts'
import { Mark } from '../parts/mark.ts'
import { shown } from '../parts/states.ts'
import { Table, byName } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { Blocked, commitTitled, shortCommit } from '../parts/wait.ts'
import { ApproveButton, HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'
import { CommitWays } from './pipeline-commits.ts'
import { Flow } from './pipeline-flow.ts'

const isRelease = (row: PipelineRow): row is ReleaseRow => row.row === 'Release'
const isStage = (row: PipelineRow): row is StageRow => row.row === 'Stage'
const isPlace = (row: PipelineRow): row is PlaceRow => row.row === 'Place'

export function Pipeline(): VNode {
  const { route, session } = useApp()
  const hub = word(hubOf(session))
  const loaded = useTopic<PipelineTopic>('pipeline')
  const rows = loaded.state === 'Ready' ? loaded.value.rows : []
  const releases = rows
    .filter(isRelease)
    .toSorted((a, b) => Number(b.isNewest) - Number(a.isNewest) || (b.startedAt ?? 0) - (a.startedAt ?? 0))
  const wanted = route.params['release']
  const release =
    releases.find(({ object }) => object.name === wanted) ?? (wanted === undefined ? releases[0] : undefined)
  const name = release?.object.name
  return h(
    Page,
    {
      title: 'Pipeline',
      sentence: release && h(Sentence, { release }),
      tools: [
        releases.length > 1 &&
          h(Choice, {
            label: 'Release',
            name: 'release',
            value: name ?? '',
            options: Object.fromEntries(
              releases.map((r) => [
                r.object.name,
                `${r.track} ${shortCommit(r.commit)}${r.subject === undefined ? '' : ` ${r.subject}`}${r.isNewest ? '' : ' (older)'}`,
              ]),
            ),
          }),
        h(AsTable, {}),
        release &&
          h(HoldButton, { cluster: release.object.cluster, target: targetOf(release), effects: ['Pause', 'Freeze'] }),
        release &&
          h(ApproveButton, {
            cluster: release.object.cluster,
            of: { ...targetOf(release), kind: 'Release' },
            approvals: release.approvals,
          }),
      ],
      commands:
        name === undefined
          ? [`kubenode release status --context ${hub}`]
          : [
              `kubenode release status ${word(name)} --context ${hub}`,
              `kubenode why release/${word(name)} --context ${hub}`,
            ],
    },
    shown(loaded, () =>
      release === undefined
        ? h(
            NothingOnHub,
            { title: wanted === undefined ? 'No release yet' : 'This release does not exist' },
            wanted === undefined
              ? 'A release appears with the first commit that sync reads.'
              : 'It may be older than those that are kept.',
          )
        : h(Release, { release, rows, isTable: route.params['as'] === 'table' }),
    ),
  )
}

const targetOf = ({ object }: ReleaseRow) => ({
  kind: object.kind,
  name: object.name,
  ...defined({ namespace: object.namespace }),
})

function Sentence({ release }: { readonly release: ReleaseRow }): VNode {
  const { route } = useApp()
  const titled = commitTitled(release)
  return h(
    'span',
    { class: 'row' },
    h(Mark, { phase: release.phase }),
    h('a', { href: to(route, 'commits', { name: release.commit }), class: 'mono' }, shortCommit(release.commit)),
    titled !== '' && h('span', {}, titled),
    h('span', {}, `track ${release.track}${release.source === release.track ? '' : ` of ${release.source}`}`),
    release.revertOf !== undefined &&
      h('span', {}, `reverts ${shortCommit(release.revertOf)} ${release.revertedSubject ?? ''}`.trimEnd()),
    h(Since, { at: release.startedAt }),
  )
}

interface Shown {
  readonly release: ReleaseRow
  readonly rows: readonly PipelineRow[]
  readonly isTable: boolean
}

function Release({ release, rows, isTable }: Shown): VNode {
  const stages = rows
    .filter(isStage)
    .filter((s) => s.release === release.id)
    .toSorted((a, b) => a.order - b.order)
  const places = rows
    .filter(isPlace)
    .filter((p) => p.release === release.id)
    .toSorted((a, b) => byName(a.cluster, b.cluster))
  return h(
    'div',
    { class: 'wide' },
    h(WhyItStops, { release }),
    isTable
      ? h(Places, { places, caption: 'Clusters of this release', withStage: true })
      : h(Flow, { release, stages, places }),
    h(CommitWays, { releases: rows.filter(isRelease), stages: rows.filter(isStage) }),
  )
}

/** The cause as Home tells it, once; without one, what the release itself waits for. */
function WhyItStops({ release }: { readonly release: ReleaseRow }): VNode | null {
  const { session } = useApp()
  const canReadHome = clustersWith(session, 'home').length > 0
  const loaded = useTopic<HomeTopic>(canReadHome ? 'home' : undefined)
  const rows = loaded.state === 'Ready' ? loaded.value.rows : []
  const causes = causesOf(rows.filter(({ weight, commit }) => weight === 'Act' && commit?.commit === release.commit))
  if (causes.length === 0)
    return h(Blocked, { holds: release.holds, cluster: release.object.cluster, wait: release.wait })
  return h(
    'div',
    { class: 'wide' },
    release.holds.length > 0 && h(Blocked, { holds: release.holds, cluster: release.object.cluster, wait: undefined }),
    h(
      'ul',
      { class: 'sheet items', 'aria-label': 'What stops it' },
      causes.map((cause) => h(CauseCard, { key: cause.id, cause })),
    ),
  )
}

function Places({
  places,
  caption,
  withStage,
}: {
  readonly places: readonly PlaceRow[]
  readonly caption: string
  readonly withStage: boolean
}): VNode {
  const { route } = useApp()
  return h(Table<PlaceRow>, {
    caption,
    rows: places,
    idOf: ({ id }) => id,
    href: ({ cluster }) => to(route, 'machines', { cluster }),
    empty: 'This stage has no cluster.',
    columns: [
      { id: 'cluster', title: 'Cluster', of: (p) => p.cluster, by: (p) => p.cluster },
      ...(withStage
        ? [{ id: 'stage', title: 'Stage', of: (p: PlaceRow) => p.stage, by: (p: PlaceRow) => p.stage }]
        : []),
      { id: 'phase', title: 'Phase', of: (p) => h(Mark, { phase: p.phase }), by: (p) => p.phase },
      { id: 'since', title: 'For', of: (p) => h(Ago, { at: p.since }), by: (p) => -p.since },
      { id: 'failures', title: 'Failures', of: failuresOf, by: (p) => p.newFailures },
      { id: 'why', title: 'Waits for', of: (p) => p.wait?.seen ?? p.message ?? '' },
    ],
  })
}

const failuresOf = ({ oldFailures, newFailures }: PlaceRow): string =>
  newFailures + oldFailures === 0
    ? ''
    : [newFailures > 0 && `${newFailures} new`, oldFailures > 0 && `${oldFailures} from before`]
        .filter((t) => t !== false)
        .join(', ')
