// Rollouts: a cluster's sets, and the ladder of one: steps, slices with permits, inspections, failures with the probe's text, minutes left.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp, useCluster, useTopic } from '../app.ts'
import { AsTable, ClusterChoice, Page } from '../frame.ts'
import type { SetTopic, SetsTopic } from '../../protocol.ts'
import type { Ladder, SetHead, SetMachineRow, SetPartRow, SetRow, SliceRow } from '../../topics.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago, Bar, Since, Until } from '../parts/clock.ts'
import { Pairs } from '../parts/pairs.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { span } from '../parts/time.ts'
import { Blocked } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'
import type { Route } from '../router.ts'

export function Rollouts(): VNode {
  const { route } = useApp()
  const cluster = useCluster('sets')
  return route.name === undefined || cluster === undefined
    ? h(Sets, { cluster })
    : h(OneSet, { cluster, name: route.name })
}

function Sets({ cluster }: { readonly cluster: string | undefined }): VNode {
  const { route } = useApp()
  const loaded = useTopic<SetsTopic>(cluster === undefined ? undefined : topicOf('sets', cluster))
  return h(
    Page,
    {
      title: cluster === undefined ? 'Rollouts' : `Rollouts in ${cluster}`,
      sentence: 'Each set brings its components to its machines step by step.',
      tools: h(ClusterChoice, { family: 'sets', cluster }),
      commands: cluster === undefined ? [] : [`kubenode get machinecomponentsets --context ${word(cluster)}`],
    },
    shown(loaded, ({ rows }) =>
      rows.length === 0
        ? h(Notice, { title: 'No sets' }, 'A commit that declares a MachineComponentSet creates one.')
        : h(Table<SetRow>, {
            caption: 'Sets',
            rows,
            idOf: ({ id }) => id,
            href: ({ object }) => to(route, 'rollouts', { cluster: object.cluster, name: object.name }),
            columns: [
              { id: 'name', title: 'Set', of: (s) => s.object.name, by: (s) => s.object.name },
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
                of: (s) => h(Progress, { set: s }),
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
          }),
    ),
  )
}

const Progress = ({ set }: { readonly set: SetRow }): VNode =>
  h(
    'div',
    {},
    h('span', {}, `${set.updated} of ${set.total}`),
    h(Bar, {
      share: set.updated / Math.max(1, set.total),
      tone: set.failed > 0 ? 'bad' : 'good',
      label: `${set.updated} of ${set.total} machines up to date`,
    }),
  )

function OneSet({ cluster, name }: { readonly cluster: string; readonly name: string }): VNode {
  const { route, session } = useApp()
  const loaded = useTopic<SetTopic>(topicOf('set', cluster, name))
  const head = loaded.state === 'Ready' ? loaded.value.head : undefined
  const context = `--context ${word(cluster)}`
  return h(
    Page,
    {
      title: `Rollout of ${name}`,
      sentence: head && h(Sentence, { head, cluster }),
      tools: [
        h('a', { href: to(route, 'rollouts', { cluster }) }, 'All sets'),
        h('a', { href: to(route, 'why', { cluster, kind: 'MachineComponentSet', name }) }, 'Why it waits'),
        session.canPrepare &&
          head?.components[0] !== undefined &&
          h('a', { href: bump(route, cluster, name, head.components[0]) }, 'Change a version'),
        h(AsTable, {}),
        h(HoldButton, {
          cluster,
          target: { kind: 'MachineComponentSet', name },
          effects:
            head !== undefined && head.blocked.length > 0
              ? ['Pause', 'Freeze', 'Retry', 'Abort']
              : ['Pause', 'Freeze', 'Abort'],
        }),
      ],
      commands: [`kubenode rollout status ${word(name)} ${context}`, `kubenode why set/${word(name)} ${context}`],
    },
    shown(loaded, ({ head, rows }) => h(LadderView, { head, rows, cluster, isTable: route.params['as'] === 'table' })),
  )
}

const bump = (route: Route, cluster: string, set: string, { name, version }: SetRow['components'][number]): string =>
  to(route, 'prepare', { params: { change: 'version', cluster, set, component: name, from: version } })

/** A sentence that answers: how much longer? */
function Sentence({ head }: { readonly head: SetHead; readonly cluster: string }): VNode {
  const minutes = head.ladders.flatMap(({ minutesLeft }) => (minutesLeft === undefined ? [] : [minutesLeft]))
  const isMoving = head.phase === 'Progressing'
  return h(
    'span',
    { class: 'row' },
    h(Mark, { phase: head.phase }),
    h('span', {}, `${head.updated} of ${head.total} machines up to date${failedOf(head)}, ${head.skipped} skipped`),
    isMoving &&
      h(
        'strong',
        {},
        minutes.length === 0
          ? 'Time left: not measured yet'
          : `About ${span(Math.max(...minutes) * 60_000)} left if nothing else waits`,
      ),
  )
}

/** A machine that rolled back by itself serves, and no longer counts as failed: "0 failed" next to a blocked revision would contradict its reason. */
const failedOf = ({ failed, blocked }: SetHead): string =>
  failed === 0 && blocked.length > 0 ? '' : `, ${failed} failed`

interface LadderProps {
  readonly head: SetHead
  readonly rows: readonly SetPartRow[]
  readonly cluster: string
  readonly isTable: boolean
}

const isSlice = (row: SetPartRow): row is SliceRow => row.row === 'Slice'

function LadderView({ head, rows, cluster, isTable }: LadderProps): VNode {
  const slices = rows.filter(isSlice)
  const failed = rows.filter((row): row is SetMachineRow => row.row === 'Failed')
  const skipped = rows.filter((row): row is SetMachineRow => row.row === 'Skipped')
  return h(
    'div',
    { class: 'wide' },
    h(Blocked, { holds: head.holds, cluster, wait: head.wait }),
    failed.length > 0 && h(Failures, { rows: failed, cluster }),
    isTable
      ? h(Slices, { slices })
      : head.ladders.map((ladder) =>
          h(Rungs, {
            key: ladder.component,
            ladder,
            slices,
            cluster,
            inspections: head.inspections,
            soakMs: head.soakMs,
          }),
        ),
    head.ladders.length === 0 &&
      !isTable &&
      h(
        Notice,
        { title: 'No rollout is running' },
        'Every component of this set is up to date, or the set waits before its first step.',
      ),
    head.blocked.length > 0 &&
      h(
        'section',
        { class: 'sheet pad stack', 'aria-label': 'Blocked revisions' },
        h('h2', {}, 'Blocked revisions'),
        head.blocked.map((b) =>
          h(
            'div',
            { key: b.revision, class: 'fail' },
            h(
              'p',
              {},
              h('strong', {}, b.component),
              ' ',
              h('code', {}, b.revision),
              ' ',
              h('span', { class: 'soft' }, h(Since, { at: b.since })),
            ),
            h('p', {}, b.reason),
          ),
        ),
      ),
    skipped.length > 0 && h(Skipped, { rows: skipped, cluster }),
  )
}

function Failures({ rows, cluster }: { readonly rows: readonly SetMachineRow[]; readonly cluster: string }): VNode {
  const { route } = useApp()
  return h(
    'section',
    { class: 'sheet pad stack', 'aria-label': 'Failures' },
    h('h2', {}, 'Failures'),
    rows.map((row) =>
      h(
        'div',
        { key: row.id, class: 'fail' },
        h(
          'p',
          {},
          h(
            'a',
            { href: to(route, 'node', { cluster, name: row.machine }), 'data-row': '', class: 'name' },
            row.machine,
          ),
          ` ${row.component ?? ''} `,
          h('span', { class: 'soft' }, h(Since, { at: row.since })),
        ),
        h('pre', { class: 'said' }, row.text),
      ),
    ),
  )
}

interface RungsProps {
  readonly ladder: Ladder
  readonly slices: readonly SliceRow[]
  readonly cluster: string
  readonly inspections: readonly string[]
  readonly soakMs: number
}

/** For a breaker the same word is bad. An unknown state from a newer server is shown unchanged. */
const phaseOfRung = (state: string): string => (state === 'Open' ? 'Progressing' : state)

function Rungs({ ladder, slices, cluster, inspections, soakMs }: RungsProps): VNode {
  const title = `${ladder.component} ${ladder.version}`
  return h(
    'section',
    { class: 'sheet', 'aria-label': `Ladder of ${title}` },
    h(
      'div',
      { class: 'stage-head' },
      h('h2', {}, title),
      h(
        'span',
        { class: 'soft' },
        `After each step: ${inspections.length === 0 ? 'no inspection' : `inspections ${inspections.join(', ')}`}, soak ${span(soakMs)}`,
      ),
    ),
    h(
      'ol',
      { class: 'rungs' },
      ladder.rungs.map(({ step, machines, state }) => {
        const own = slices.filter((s) => s.component === ladder.component && s.step === step)
        return h(
          'li',
          { key: step, class: `rung${state === 'Waiting' ? ' ahead' : ''}` },
          h('b', {}, String(machines)),
          h(
            'div',
            { class: 'stack' },
            h(
              'div',
              { class: 'row' },
              h('span', {}, `Step ${step + 1}`),
              h(Mark, { phase: phaseOfRung(state) }),
              own.length > 1 && h('span', { class: 'soft' }, `${own.length} slices`),
            ),
            own.map((slice) => h(Slice, { key: slice.id, slice, cluster })),
          ),
        )
      }),
    ),
  )
}

/** Further names are in the machine table. */
const MOST_CHIPS = 24

function Slice({ slice, cluster }: { readonly slice: SliceRow; readonly cluster: string }): VNode {
  const { route } = useApp()
  return h(
    'div',
    { class: 'stack' },
    h(
      'div',
      { class: 'row small' },
      h('span', {}, slice.name),
      h(Mark, { phase: slice.phase }),
      slice.isRollback && h('span', {}, 'rollback'),
      slice.failed > 0 && h('span', {}, `${slice.failed} of ${slice.machines.length} failed`),
      slice.permit !== undefined &&
        h(
          'span',
          { class: 'soft' },
          'permit ',
          h(
            'a',
            { href: to(route, 'why', { cluster, kind: 'OperationPermit', name: slice.permit }), class: 'mono name' },
            slice.permit,
          ),
        ),
      slice.soakUntil !== undefined && h('span', { class: 'soft' }, 'soak ends ', h(Until, { at: slice.soakUntil })),
      slice.startedAt !== undefined && h('span', { class: 'soft' }, h(Since, { at: slice.startedAt })),
    ),
    slice.wait !== undefined && slice.wait.seen !== undefined && h('p', {}, slice.wait.seen),
    h(
      'div',
      { class: 'chips small' },
      slice.machines
        .slice(0, MOST_CHIPS)
        .map((m) => h('a', { key: m, class: 'chip', href: to(route, 'node', { cluster, name: m }) }, m)),
      slice.machines.length > MOST_CHIPS &&
        h('span', { class: 'soft' }, `and ${slice.machines.length - MOST_CHIPS} more`),
    ),
  )
}

/** Maximum slices of a step. */
const MOST_NUMBERS = 10_001

const Slices = ({ slices }: { readonly slices: readonly SliceRow[] }): VNode =>
  h(Table<SliceRow>, {
    caption: 'Slices',
    rows: slices,
    idOf: ({ id }) => id,
    empty: 'No slice is planned.',
    columns: [
      { id: 'slice', title: 'Slice', of: (s) => s.name, by: (s) => s.step * MOST_NUMBERS + s.number },
      { id: 'phase', title: 'Phase', of: (s) => h(Mark, { phase: s.phase }), by: (s) => s.phase },
      { id: 'machines', title: 'Machines', isNumber: true, of: (s) => s.machines.length, by: (s) => s.machines.length },
      { id: 'failed', title: 'Failed', isNumber: true, of: (s) => s.failed, by: (s) => s.failed },
      { id: 'permit', title: 'Permit', of: (s) => s.permit ?? '' },
      { id: 'for', title: 'For', of: (s) => h(Ago, { at: s.startedAt }), by: (s) => -(s.startedAt ?? 0) },
      { id: 'wait', title: 'Waits for', of: (s) => s.wait?.seen ?? '' },
    ],
  })

function Skipped({ rows, cluster }: { readonly rows: readonly SetMachineRow[]; readonly cluster: string }): VNode {
  const { route } = useApp()
  return h(Table<SetMachineRow>, {
    caption: 'Skipped machines',
    rows,
    prefix: 'skipped-',
    idOf: ({ id }) => id,
    href: ({ machine }) => to(route, 'node', { cluster, name: machine }),
    columns: [
      { id: 'machine', title: 'Machine', of: (r) => r.machine, by: (r) => r.machine },
      { id: 'text', title: 'Why', of: (r) => r.text },
    ],
  })
}
