// The release pipeline: a release as a list of stages, each with clusters, gates with observed values, and remaining soak.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { hubOf, useApp, useTopic } from '../app.ts'
import { AsTable, Choice, Page } from '../frame.ts'
import type { PipelineTopic } from '../../protocol.ts'
import type { GateNote, PipelineRow, PlaceRow, ReleaseRow, StageRow } from '../../topics.ts'
import { Ago, Left, Since } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table, byName } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { Blocked, WaitLines, commitTitled, shortCommit } from '../parts/wait.ts'
import { ApproveButton, HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'

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
            Notice,
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
    h('span', {}, `${release.track} from ${release.source}`),
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
    h(Blocked, { holds: release.holds, cluster: release.object.cluster, wait: release.wait }),
    isTable
      ? h(Places, { places, caption: 'Clusters of this release', withStage: true })
      : h(
          'ol',
          { class: 'wide', 'aria-label': 'Stages' },
          stages.map((stage, i) =>
            h(Stage, {
              key: stage.id,
              release,
              stage,
              number: i + 1,
              places: places.filter((p) => p.stage === stage.name),
            }),
          ),
        ),
  )
}

interface StageProps {
  readonly release: ReleaseRow
  readonly stage: StageRow
  readonly number: number
  readonly places: readonly PlaceRow[]
}

function Stage({ release, stage, number, places }: StageProps): VNode {
  const counts = [
    stage.total > 0 && `${stage.healthy} of ${stage.total} healthy`,
    stage.failed > 0 && `${stage.failed} failed`,
    stage.offline > 0 && `${stage.offline} offline`,
  ].filter((t) => t !== false)
  return h(
    'li',
    { class: 'sheet stage' },
    h(
      'div',
      { class: 'stage-head' },
      h('h2', {}, h('span', { class: 'soft' }, String(number)), stage.name),
      h(Mark, { phase: stage.phase }),
      h('span', { class: 'soft' }, counts.join(', ')),
      h('span', { class: 'soft' }, h(Since, { at: stage.startedAt })),
      stage.phase === 'Soaking' &&
        stage.soakFrom !== undefined &&
        stage.soakUntil !== undefined &&
        h(Left, { from: stage.soakFrom, until: stage.soakUntil, label: 'Soak' }),
      stage.phase === 'Soaking' &&
        h(HoldButton, {
          cluster: release.object.cluster,
          target: targetOf(release),
          effects: ['Promote'],
          to: stage.name,
          label: 'End the soak…',
        }),
    ),
    stage.gates.length > 0 &&
      h(
        'div',
        { class: 'gates' },
        stage.gates.map((gate) => h(Gate, { key: `${gate.when}/${gate.name}`, gate })),
      ),
    stage.wait !== undefined && h('div', { class: 'pad' }, h(WaitLines, { wait: stage.wait })),
    h(Places, { places, caption: `Clusters of stage ${stage.name}`, withStage: false }),
  )
}

const Gate = ({ gate }: { readonly gate: GateNote }): VNode =>
  h(
    'div',
    { class: 'gate' },
    h('span', {}, h(Mark, { phase: gate.phase })),
    h(
      'span',
      {},
      h('strong', {}, gate.name),
      ` ${gate.when.toLowerCase()} the stage`,
      gate.seen !== undefined && [': ', gate.seen],
      ' ',
      h('span', { class: 'soft small' }, h(Since, { at: gate.since })),
    ),
  )

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
