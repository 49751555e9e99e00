// A time axis with lanes: draws each span or moment, plus a list for users who cannot see it.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Tone } from './mark.ts'
import { moment, span } from './time.ts'

export interface Span {
  readonly id: string
  readonly lane: string
  readonly text: string
  readonly tone: Tone
  readonly from: number
  /** If left out, it has not ended. */
  readonly to?: number
}

interface Size {
  readonly width: number
  /** Width of the lane names beside the lanes. */
  readonly label: number
  /** Height of the lane names above the lanes. */
  readonly above: number
  readonly ticks: number
}

/** About one unit per pixel, so that text keeps its size. */
const WIDE: Size = { width: 960, label: 190, above: 0, ticks: 6 }
const NARROW: Size = { width: 340, label: 2, above: 14, ticks: 2 }
/** Same as in the style sheet. */
const PHONE = '(max-width: 48rem)'
/** Minimum width of a character in a name. */
const CHARACTER = 6.6
const LANE = 30
const AXIS = 26
/** Minimum width of a moment, to be visible. */
const LEAST = 4

function useSize(): Size {
  const [isPhone, setPhone] = useState(() => matchMedia(PHONE).matches)
  useEffect(() => {
    const query = matchMedia(PHONE)
    const follow = (): void => setPhone(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isPhone ? NARROW : WIDE
}

export function Timeline({
  spans,
  now,
  label,
}: {
  readonly spans: readonly Span[]
  readonly now: number
  readonly label: string
}): VNode {
  const size = useSize()
  const lanes = [...new Set(spans.map(({ lane }) => lane))]
  const begin = Math.min(...spans.map(({ from }) => from))
  const end = Math.max(...spans.map((s) => s.to ?? now), begin + 1000)
  const xOf = (at: number): number => size.label + ((at - begin) / (end - begin)) * (size.width - size.label - 12)
  const lane = LANE + size.above
  const height = lanes.length * lane + AXIS
  const ticks = Array.from({ length: size.ticks + 1 }, (_, i) => begin + ((end - begin) * i) / size.ticks)
  return h(
    'div',
    { class: 'line-field', tabIndex: 0, role: 'region', 'aria-label': label },
    h(
      'svg',
      {
        viewBox: `0 0 ${size.width} ${height}`,
        role: 'img',
        'aria-label': `${label}: ${spans.map((s) => described(s, now)).join('; ')}`,
      },
      ticks.map((at, i) =>
        h('g', { key: `t${i}` }, [
          h('line', { x1: xOf(at), x2: xOf(at), y1: 0, y2: height - AXIS + 4, stroke: 'var(--line)' }),
          h(
            'text',
            { x: xOf(at), y: height - 8, 'text-anchor': i === 0 ? 'start' : i === size.ticks ? 'end' : 'middle' },
            moment(at, now).slice(-8),
          ),
        ]),
      ),
      lanes.map((name, i) =>
        h(
          'text',
          { key: name, x: 0, y: i * lane + (size.above > 0 ? size.above : LANE / 2 + 4) },
          cut(name, Math.floor((size.above > 0 ? size.width : size.label) / CHARACTER)),
        ),
      ),
      spans.map((s) =>
        h(
          'rect',
          {
            key: s.id,
            class: `tone-${s.tone}`,
            x: xOf(s.from),
            y: lanes.indexOf(s.lane) * lane + size.above + 7,
            width: Math.max(LEAST, xOf(s.to ?? now) - xOf(s.from)),
            height: LANE - 14,
            rx: 3,
            fill: s.to === undefined ? 'none' : 'currentColor',
            stroke: 'currentColor',
            'stroke-width': 2,
            // Ongoing spans have a dashed outline, so that color is not needed.
            'stroke-dasharray': s.to === undefined ? '5 3' : 'none',
          },
          h('title', {}, described(s, now)),
        ),
      ),
    ),
  )
}

const cut = (name: string, most: number): string => (name.length > most ? `${name.slice(0, most - 1)}…` : name)

const described = ({ lane, text, from, to }: Span, now: number): string =>
  `${lane} ${text} ${moment(from, now)}, ${to === undefined ? `for ${span(now - from)} until now` : span(to - from)}`
