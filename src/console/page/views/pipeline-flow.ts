// One release as a picture: its stages from left to right with their clusters inside, gates as points on the line, and the commit where it is now.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { GateNote, PlaceRow, ReleaseRow, StageRow, Wait } from '../../topics.ts'
import { Ago } from '../parts/clock.ts'
import { Mark, shape, spaced, toneOf } from '../parts/mark.ts'
import { Ring } from '../parts/ring.ts'
import { count } from '../parts/time.ts'
import { LiftLine, shortCommit } from '../parts/wait.ts'
import { HoldButton } from '../parts/write-forms.ts'
import { to } from '../router.ts'

interface FlowProps {
  readonly release: ReleaseRow
  readonly stages: readonly StageRow[]
  readonly places: readonly PlaceRow[]
}

/** The commit has reached these. */
const REACHED: ReadonlySet<string> = new Set(['Progressing', 'Soaking', 'Paused', 'Failed', 'Succeeded'])
const PASSED: ReadonlySet<string> = new Set(['Succeeded', 'Skipped'])

export function Flow({ release, stages, places }: FlowProps): VNode {
  const at = stages.findLastIndex(({ phase }) => REACHED.has(phase))
  return h(
    'ol',
    { class: 'flow', 'aria-label': `Stages of ${release.track}` },
    stages.map((stage, i) =>
      h(Step, {
        key: stage.id,
        release,
        stage,
        isHere: i === at,
        isPassed: i < at || PASSED.has(stage.phase),
        places: places.filter((p) => p.stage === stage.name),
      }),
    ),
  )
}

interface StepProps {
  readonly release: ReleaseRow
  readonly stage: StageRow
  readonly places: readonly PlaceRow[]
  /** The furthest stage that the commit has reached. */
  readonly isHere: boolean
  readonly isPassed: boolean
}

function Step({ release, stage, places, isHere, isPassed }: StepProps): VNode {
  const before = stage.gates.filter(({ when }) => when === 'Before')
  const within = stage.gates.filter(({ when }) => when !== 'Before')
  const isEmpty = places.length === 0 && stage.total === 0
  const tone = isHere ? toneOf(stage.phase) : isPassed ? 'good' : 'rest'
  const way = isHere ? 'here' : isPassed ? 'passed' : 'ahead'
  return h(
    'li',
    { class: `flow-step ${way}${isEmpty ? ' slim' : ''}` },
    h(
      'div',
      { class: `flow-edge tone-${tone}` },
      isHere && h('span', { class: 'flow-commit mono' }, shortCommit(release.commit)),
      before.map((gate) => h(GatePoint, { key: gate.name, gate })),
    ),
    h(
      'div',
      { class: 'sheet flow-stage' },
      h(
        'div',
        { class: 'flow-head' },
        h('h2', {}, stage.name),
        h(Mark, { phase: stage.phase }),
        stage.total > 0 && h('span', { class: 'soft small' }, `${stage.healthy} of ${stage.total} healthy`),
        stage.startedAt !== undefined && h('span', { class: 'soft small' }, h(Ago, { at: stage.startedAt })),
      ),
      isEmpty ? h('p', { class: 'soft small' }, 'No cluster') : h(Places, { places }),
      within.length > 0 &&
        h(
          'ul',
          { class: 'flow-gates', 'aria-label': `Gates of ${stage.name}` },
          within.map((gate) => h('li', { key: `${gate.when}/${gate.name}` }, h(GatePoint, { gate }))),
        ),
      !isEmpty && h(Waiting, { release, stage }),
    ),
  )
}

/** What stage and release wait for in the same words is said once, at the top. */
const isSame = (a: Wait | undefined, b: Wait | undefined): boolean =>
  a?.predicate === b?.predicate && a?.seen === b?.seen

function Waiting({ release, stage }: Pick<StepProps, 'release' | 'stage'>): VNode | null {
  const { wait, phase, soakFrom, soakUntil } = stage
  if (phase === 'Soaking' && soakFrom !== undefined && soakUntil !== undefined)
    return h(
      'div',
      { class: 'row flow-wait' },
      h(Ring, { from: soakFrom, until: soakUntil, label: 'Soak' }),
      wait?.seen !== undefined && h('span', { class: 'soft small' }, wait.seen),
      h(HoldButton, {
        cluster: release.object.cluster,
        target: {
          kind: release.object.kind,
          name: release.object.name,
          ...defined({ namespace: release.object.namespace }),
        },
        effects: ['Promote'],
        to: stage.name,
        label: 'End the soak…',
      }),
    )
  if (wait === undefined || isSame(wait, release.wait)) return null
  // The point on the line says it already, but not that the gate's time is over.
  const isGates =
    wait.predicate === 'GateClosed' &&
    stage.gates.some(({ seen = '' }) => seen !== '' && wait.seen?.endsWith(seen) === true)
  if (isGates && wait.lift?.isCommand !== true) return null
  return h(
    'div',
    { class: 'flow-wait small' },
    !isGates && h('p', {}, wait.seen ?? spaced(wait.predicate)),
    wait.lift?.isCommand === true && h(LiftLine, { lift: wait.lift, cluster: release.object.cluster }),
  )
}

/** More clusters are in the table. */
const MOST_PLACES = 8

const RANKS: Readonly<Record<string, number>> = { bad: 0, still: 1, busy: 2, wait: 3, rest: 4, mend: 4, good: 5 }
const rank = ({ phase }: PlaceRow): number => RANKS[toneOf(phase)] ?? 4

/** Objects of a new cluster are not healthy at first, which is no failure. */
function failuresOf({ newFailures: n, phase }: PlaceRow): string {
  const how = toneOf(phase) === 'bad' ? 'failed' : 'not healthy yet'
  return `${n === 1 ? '1 object' : `${count(n)} objects`} ${how}`
}

function Places({ places }: { readonly places: readonly PlaceRow[] }): VNode {
  const { route } = useApp()
  const worst = places.toSorted((a, b) => rank(a) - rank(b))
  const rest = worst.slice(MOST_PLACES)
  const healthy = rest.filter(({ phase }) => toneOf(phase) === 'good').length
  return h(
    'ul',
    { class: 'flow-places' },
    worst
      .slice(0, MOST_PLACES)
      .map((place) =>
        h(
          'li',
          { key: place.id },
          shape(toneOf(place.phase)),
          h(
            'a',
            { href: to(route, 'machines', { cluster: place.cluster }), 'data-row': '', class: 'name' },
            place.cluster,
          ),
          h(
            'span',
            { class: 'soft small' },
            spaced(place.phase),
            h('span', { class: 'soft' }, ' ', h(Ago, { at: place.since })),
          ),
          place.newFailures > 0 && h('span', { class: 'small' }, failuresOf(place)),
        ),
      ),
    rest.length > 0 &&
      h('li', { class: 'soft small' }, `and ${count(rest.length)} more, ${count(healthy)} of them healthy`),
  )
}

/** A point on the line with its figure; the words of the gate are next to it. */
function GatePoint({ gate }: { readonly gate: GateNote }): VNode {
  const { figure } = gate
  const share = figure === undefined || figure.of === 0 ? undefined : Math.round((100 * figure.have) / figure.of)
  return h(
    'span',
    { class: 'gate-point small', ...defined({ title: gate.seen }) },
    shape(toneOf(gate.phase)),
    h('span', {}, h('b', {}, gate.name), ' ', h('span', { class: 'off-screen' }, spaced(gate.phase))),
    h(
      'span',
      { class: 'soft' },
      figure?.needed !== undefined && share !== undefined
        ? `${share} % seen, ${figure.needed} % needed`
        : gate.phase === 'Passed' && figure === undefined
          ? 'passed'
          : (gate.seen ?? spaced(gate.phase).toLowerCase()),
    ),
  )
}
