// One component on its way: the steps from left to right as they fill, the slices of each, and the machines that are next.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { NextStep, Ladder, Rung, SetHead, SliceRow } from '../../set-topics.ts'
import { Since, Until } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { count, span } from '../parts/time.ts'
import { Version } from '../parts/version.ts'
import { to } from '../router.ts'

interface Props {
  readonly ladder: Ladder
  readonly slices: readonly SliceRow[]
  readonly cluster: string
  readonly head: SetHead
}

/** For a breaker the same word is bad. An unknown state from a newer server is shown unchanged. */
const phaseOfRung = (state: string): string => (state === 'Open' ? 'Progressing' : state)

export function LadderOf({ ladder, slices, cluster, head }: Props): VNode {
  const { component, version, rungs } = ladder
  const own = slices.filter((s) => s.component === component)
  const next = head.next.find((n) => n.component === component)
  return h(
    'section',
    { class: 'sheet', 'aria-label': `Ladder of ${component} ${version}` },
    h(
      'div',
      { class: 'stage-head' },
      h('h2', {}, h(Version, { name: component, version })),
      h(
        'span',
        { class: 'soft' },
        `After each step: ${head.inspections.length === 0 ? 'no inspection' : `inspections ${head.inspections.join(', ')}`}, soak ${span(head.soakMs)}`,
      ),
    ),
    h(
      'ol',
      { class: 'ladder' },
      rungs.map((rung, at) =>
        h(Segment, {
          key: rung.step,
          rung,
          below: rungs[at - 1]?.machines ?? 0,
          slices: own.filter((s) => s.step === rung.step),
        }),
      ),
    ),
    rungs.some(({ step }) => own.some((s) => s.step === step)) &&
      h(
        'ul',
        { class: 'slices' },
        own.toReversed().map((slice) => h(Slice, { key: slice.id, slice, cluster, said: head.wait?.seen })),
      ),
    next !== undefined && h(Next, { next, cluster }),
  )
}

/** Machines of these slices have switched. */
const SWITCHED: ReadonlySet<string> = new Set(['Inspecting', 'Soaking', 'Passed'])

function doneOf({ state }: Rung, size: number, slices: readonly SliceRow[]): number {
  if (state === 'Passed' || state === 'Soaking') return size
  return slices.filter((s) => SWITCHED.has(s.phase)).reduce((n, s) => n + s.machines.length, 0)
}

interface SegmentProps {
  readonly rung: Rung
  /** Machines of the steps before it. */
  readonly below: number
  readonly slices: readonly SliceRow[]
}

function Segment({ rung, below, slices }: SegmentProps): VNode {
  const { step, machines, state } = rung
  const size = machines - below
  const done = doneOf(rung, size, slices)
  const soak = slices.find((s) => s.soakUntil !== undefined && s.phase === 'Soaking')?.soakUntil
  return h(
    'li',
    { class: `segment segment-${state.toLowerCase()}` },
    h('b', {}, count(machines)),
    h('progress', { class: 'filled', max: Math.max(1, size), value: done, 'aria-label': `Step ${step + 1}` }),
    h('span', { class: 'small' }, `Step ${step + 1} `, h(Mark, { phase: phaseOfRung(state) })),
    h(
      'span',
      { class: 'small soft' },
      soak === undefined
        ? state === 'Open' || state === 'Failed'
          ? `${count(done)} of ${count(size)} switched`
          : `${count(size)} ${size === 1 ? 'machine' : 'machines'}`
        : ['soak ends ', h(Until, { at: soak })],
    ),
  )
}

/** Further names are in the machine table. */
const MOST_CHIPS = 24

interface SliceProps {
  readonly slice: SliceRow
  readonly cluster: string
  /** What the top of the page says the set waits for. */
  readonly said: string | undefined
}

function Slice({ slice, cluster, said }: SliceProps): VNode {
  const { route } = useApp()
  const { machines, permit, wait } = slice
  return h(
    'li',
    { class: 'slice' },
    h(
      'div',
      { class: 'row small' },
      h('span', {}, `Step ${slice.step + 1}, slice ${slice.number + 1}`),
      h(Mark, { phase: slice.phase }),
      slice.isRollback && h('span', {}, 'rollback'),
      slice.failed > 0 && h('strong', {}, `${slice.failed} of ${machines.length} failed`),
      slice.startedAt !== undefined && h('span', { class: 'soft' }, h(Since, { at: slice.startedAt })),
      permit !== undefined &&
        h(
          'a',
          { href: to(route, 'why', { cluster, kind: 'OperationPermit', name: permit }), title: permit },
          `permit for step ${slice.step + 1}`,
        ),
    ),
    wait?.seen !== undefined && wait.seen !== said && h('p', {}, wait.seen),
    h(
      'div',
      { class: 'chips small' },
      machines
        .slice(0, MOST_CHIPS)
        .map((m) => h('a', { key: m, class: 'chip', href: to(route, 'node', { cluster, name: m }) }, m)),
      machines.length > MOST_CHIPS && h('span', { class: 'soft' }, `and ${machines.length - MOST_CHIPS} more`),
    ),
  )
}

function Next({ next, cluster }: { readonly next: NextStep; readonly cluster: string }): VNode {
  const { route } = useApp()
  const { step, size, machines } = next
  const more = Math.max(0, size - machines.length)
  return h(
    'section',
    { class: 'pad stack next', 'aria-label': 'Next' },
    h('h3', {}, `Next: step ${step + 1} takes up to ${count(size)} ${size === 1 ? 'machine' : 'machines'}`),
    h(
      'ul',
      { class: 'row small' },
      machines.map(({ machine, why }) =>
        h(
          'li',
          { key: machine },
          h('a', { class: 'chip', href: to(route, 'node', { cluster, name: machine }) }, machine),
          why !== '' && h('span', { class: 'soft' }, ` ${why}`),
        ),
      ),
      more > 0 && h('li', { class: 'soft' }, `and ${count(more)} more`),
    ),
    h(
      'p',
      { class: 'small soft' },
      'Untried hardware classes come first, then machines of all domains in turn. Machines that the component itself broke may come before them, and what is unavailable when the step opens can change the choice.',
    ),
  )
}
