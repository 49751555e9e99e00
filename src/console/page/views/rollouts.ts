// Rollouts: all sets as a matrix, and the ladder of one: steps, slices with permits, inspections, failures with the probe's text, minutes left.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp, useCluster, useNow, useTopic } from '../app.ts'
import { AsTable, Page } from '../frame.ts'
import type { SetTopic } from '../../protocol.ts'
import type { SetHead, SetMachineRow, SetPartRow, SetRow, SliceRow } from '../../set-topics.ts'
import { topicOf } from '../../topic-name.ts'
import { Ago, Since } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { hour, span } from '../parts/time.ts'
import { Blocked } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'
import type { Route } from '../router.ts'
import { AllSets } from './rollout-matrix.ts'
import { LadderOf } from './ladder.ts'
import { Versions } from './set-versions.ts'

export function Rollouts(): VNode {
  const { route } = useApp()
  const cluster = useCluster('sets')
  return route.name === undefined || cluster === undefined ? h(AllSets, {}) : h(OneSet, { cluster, name: route.name })
}

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
    head.failure !== undefined && h('strong', {}, head.failure),
    isMoving &&
      h(
        'strong',
        {},
        minutes.length === 0
          ? 'Time left: not measured yet'
          : head.wait?.predicate === 'WaitingForWindow'
            ? `About ${span(Math.max(...minutes) * 60_000)} left once its window opens`
            : [`About ${span(Math.max(...minutes) * 60_000)} left if nothing else waits `, h(EndsAbout, { minutes })],
      ),
  )
}

/** The clock time of the end; the span is next to it. */
function EndsAbout({ minutes }: { readonly minutes: readonly number[] }): VNode {
  const now = useNow()
  return h('span', { class: 'nowrap' }, `(until ${hour(now + Math.max(...minutes) * 60_000, now)})`)
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
      : head.ladders.map((ladder) => h(LadderOf, { key: ladder.component, ladder, slices, cluster, head })),
    head.ladders.length === 0 &&
      !isTable &&
      h(
        Notice,
        { title: 'No rollout is running' },
        head.phase === 'Complete'
          ? 'Every component of this set is up to date.'
          : 'The set waits before its first step, or has nothing to switch.',
      ),
    head.versions.length > 0 && h(Versions, { rows: head.versions, cluster }),
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
            h('p', {}, head.wait?.seen?.includes(b.reason) === true ? 'for the failure above' : b.reason),
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
