// Bars over time: one line for each state of an object, marks for what people and programs did, and hatched where nothing was recorded.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { LifeAnswer, LifeLane } from '../../protocol.ts'
import { hour, moment, span } from './time.ts'

/** Units of the drawing; it stretches to the width of the page. */
const WIDTH = 1000
const HEIGHT = 14
/** Thinner bars would not be seen. */
const MIN_WIDTH = 1.5

const STATES = {
  Good: 'good',
  Bad: 'bad',
  Busy: 'busy',
  Unknown: 'unknown',
  Absent: 'absent',
} as const satisfies Readonly<Record<LifeLane['states'][number]['state'], string>>

type Drawn = Pick<LifeAnswer, 'from' | 'to' | 'lanes' | 'gaps' | 'marks'>

export function Lanes({ life }: { readonly life: Drawn }): VNode {
  const { now } = useApp()
  const { from, to, lanes, gaps, marks } = life
  return h(
    'figure',
    { class: 'lanes sheet pad' },
    lanes.map((lane) =>
      h(
        'div',
        { key: lane.name, class: 'lane' },
        h('span', { class: 'name' }, lane.name),
        h(Bar, { lane, from, to, gaps }),
      ),
    ),
    marks.length > 0 &&
      h(
        'div',
        { class: 'lane' },
        h('span', { class: 'name' }, 'changes'),
        h(
          'svg',
          {
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            preserveAspectRatio: 'none',
            role: 'img',
            'aria-label': changesText(marks.length),
          },
          marks.map((at) => h('rect', { class: 'mark', x: placeOf(at, from, to), y: 2, width: 2, height: HEIGHT - 4 })),
        ),
      ),
    h(
      'div',
      { class: 'lane' },
      h('span', {}),
      h(
        'span',
        { class: 'row apart soft small' },
        [from, (from + to) / 2, to].map((at) => h('time', { key: at }, hour(at, now()))),
      ),
    ),
    h(
      'figcaption',
      { class: 'row soft small' },
      (['Good', 'Busy', 'Bad', 'Unknown'] as const).map((state) =>
        h('span', { key: state, class: `key ${STATES[state]}` }, state === 'Busy' ? 'working' : state.toLowerCase()),
      ),
      h('span', { class: 'key gap' }, 'not recorded'),
    ),
  )
}

const changesText = (n: number): string => `${n} change${n === 1 ? '' : 's'} by people and programs`

const placeOf = (at: number, from: number, to: number): number =>
  ((Math.min(Math.max(at, from), to) - from) / Math.max(1, to - from)) * WIDTH

function Bar({ lane, from, to, gaps }: Pick<Drawn, 'from' | 'to' | 'gaps'> & { readonly lane: LifeLane }): VNode {
  const { now } = useApp()
  const parts = lane.states.map((state, n) => ({ ...state, until: lane.states[n + 1]?.from ?? to }))
  return h(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `${lane.name}: ${shares(parts, from, to)}`,
    },
    parts
      .filter(({ until }) => until > from)
      .map((part) => {
        const x = placeOf(part.from, from, to)
        const width = Math.max(MIN_WIDTH, placeOf(part.until, from, to) - x)
        return h(
          'rect',
          { class: STATES[part.state], x, y: 0, width, height: HEIGHT },
          h(
            'title',
            {},
            `${part.text}, ${moment(Math.max(part.from, from), now())}, ${span(part.until - Math.max(part.from, from))}`,
          ),
        )
      }),
    gaps.map((gap) => {
      const x = placeOf(gap.starts, from, to)
      return h('rect', {
        class: 'gap',
        x,
        y: 0,
        width: Math.max(MIN_WIDTH, placeOf(gap.ends ?? to, from, to) - x),
        height: HEIGHT,
      })
    }),
  )
}

/** For those who do not see the bar: how long it was in each state. */
function shares(
  parts: readonly (LifeLane['states'][number] & { readonly until: number })[],
  from: number,
  to: number,
): string {
  const sums = new Map<string, number>()
  for (const { state, from: since, until } of parts) {
    const ms = Math.min(until, to) - Math.max(since, from)
    if (ms > 0) sums.set(state, (sums.get(state) ?? 0) + ms)
  }
  const last = parts.at(-1)
  const durations = [...sums].map(([state, ms]) => `${state.toLowerCase()} ${span(ms)}`).join(', ')
  return `${durations === '' ? 'nothing known' : durations}${last === undefined ? '' : `; in the end ${last.text}`}`
}
