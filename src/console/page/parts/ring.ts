// A ring that fills while something lasts, such as a soak; the text next to it says how long.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useNow } from '../app.ts'
import { span } from './time.ts'

const RADIUS = 9
const AROUND = 2 * Math.PI * RADIUS

export function Ring({
  from,
  until,
  label,
}: {
  readonly from: number
  readonly until: number
  readonly label: string
}): VNode {
  const now = useNow()
  const done = Math.min(1, Math.max(0, (now - from) / Math.max(1, until - from)))
  const left = Math.max(0, until - now)
  return h(
    'span',
    { class: 'ring small' },
    h(
      'svg',
      { viewBox: '0 0 24 24', 'aria-hidden': 'true' },
      h('circle', { class: 'ring-rail', cx: 12, cy: 12, r: RADIUS }),
      h('circle', {
        class: 'ring-done',
        cx: 12,
        cy: 12,
        r: RADIUS,
        'stroke-dasharray': `${done * AROUND} ${AROUND}`,
        transform: 'rotate(-90 12 12)',
      }),
    ),
    h('span', { class: 'soft nowrap' }, left === 0 ? `${label} over` : `${label}: ${span(left)} left`),
  )
}
