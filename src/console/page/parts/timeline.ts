// A time axis with lanes: each span or moment is drawn, and the same is a list for those who do not see it. Pure but for the clock it is given.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { Tone } from './mark.ts'
import { moment, span } from './time.ts'

export interface Span {
  readonly id: string
  readonly lane: string
  readonly text: string
  readonly tone: Tone
  readonly from: number
  /** Absent: it lasts until now. */
  readonly to?: number
}

const WIDTH = 960
const LABEL = 190
const LANE = 30
const AXIS = 26
/** A moment is drawn this wide, else it is not seen. */
const LEAST = 4
const TICKS = 6

export function Timeline({
  spans,
  now,
  label,
}: {
  readonly spans: readonly Span[]
  readonly now: number
  readonly label: string
}): VNode {
  const lanes = [...new Set(spans.map(({ lane }) => lane))]
  const begin = Math.min(...spans.map(({ from }) => from))
  const end = Math.max(...spans.map((s) => s.to ?? now), begin + 1000)
  const xOf = (at: number): number => LABEL + ((at - begin) / (end - begin)) * (WIDTH - LABEL - 12)
  const height = lanes.length * LANE + AXIS
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => begin + ((end - begin) * i) / TICKS)
  return h(
    'div',
    { class: 'line-field', tabIndex: 0, role: 'region', 'aria-label': label },
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${height}`,
        role: 'img',
        'aria-label': `${label}: ${spans.map((s) => described(s, now)).join('; ')}`,
      },
      ticks.map((at, i) =>
        h('g', { key: `t${i}` }, [
          h('line', { x1: xOf(at), x2: xOf(at), y1: 0, y2: height - AXIS + 4, stroke: 'var(--line)' }),
          h(
            'text',
            { x: xOf(at), y: height - 8, 'text-anchor': i === 0 ? 'start' : i === TICKS ? 'end' : 'middle' },
            moment(at, now).slice(-8),
          ),
        ]),
      ),
      lanes.map((lane, i) =>
        h('text', { key: lane, x: 0, y: i * LANE + LANE / 2 + 4 }, lane.length > 28 ? `${lane.slice(0, 27)}…` : lane),
      ),
      spans.map((s) =>
        h(
          'rect',
          {
            key: s.id,
            class: `tone-${s.tone}`,
            x: xOf(s.from),
            y: lanes.indexOf(s.lane) * LANE + 7,
            width: Math.max(LEAST, xOf(s.to ?? now) - xOf(s.from)),
            height: LANE - 14,
            rx: 3,
            fill: s.to === undefined ? 'none' : 'currentColor',
            stroke: 'currentColor',
            'stroke-width': 2,
            // What still lasts has an open shape, so that color is not needed to see it.
            'stroke-dasharray': s.to === undefined ? '5 3' : 'none',
          },
          h('title', {}, described(s, now)),
        ),
      ),
    ),
  )
}

const described = ({ lane, text, from, to }: Span, now: number): string =>
  `${lane} ${text} ${moment(from, now)}, ${to === undefined ? `for ${span(now - from)} until now` : span(to - from)}`
