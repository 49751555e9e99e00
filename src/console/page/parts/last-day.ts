// The last day of an object, where a history is kept: its states as bars, and what people and programs changed.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { useAnswer, useApp } from '../app.ts'
import type { ObjectName } from '../../basics.ts'
import type { LifeAnswer } from '../../protocol.ts'
import { to } from '../router.ts'
import { Lanes } from './lanes.ts'
import { moment } from './time.ts'

const DAY = 86_400_000
/** It moves on in steps, because each one is a question to the history. */
const STEP = 5 * 60_000
/** The whole list is one link away. */
const MOST_LINES = 6

export function LastDay({ cluster, kind, name }: ObjectName): VNode {
  const { route } = useApp()
  return h(LastDayOf, { key: [cluster, kind, name, route.params['at'] ?? ''].join('/'), cluster, kind, name })
}

function LastDayOf({ cluster, kind, name }: ObjectName): VNode | null {
  const { session, route, now } = useApp()
  const until = Number(route.params['at'] ?? Math.ceil(now() / STEP) * STEP)
  const query = new URLSearchParams({ cluster, kind, name, from: String(until - DAY), to: String(until) })
  const loaded = useAnswer<LifeAnswer>(session.isRecorded ? `/api/life?${query}` : undefined)
  // The lines of the step before stay while the next ones load.
  const shown = useRef<LifeAnswer>(undefined)
  if (loaded.state !== 'Loading') shown.current = loaded.state === 'Ready' ? loaded.value : undefined
  const life = shown.current
  // Without a history, or a right to it, the rest of the page says how things are now.
  if (life === undefined) return null
  const lines = life.lines.toReversed()
  return h(
    'section',
    { class: 'stack', 'aria-label': 'The last day' },
    h(
      'div',
      { class: 'row apart' },
      h('h2', {}, 'The last day'),
      h('a', { href: to(route, 'life', { cluster, kind, name }) }, 'All that is kept'),
    ),
    h(Lanes, { life }),
    lines.length > 0 &&
      h(
        'ul',
        { class: 'sheet items' },
        lines
          .slice(0, MOST_LINES)
          .map(({ at, text, tone }, n) =>
            h(
              'li',
              { key: n },
              h(
                'div',
                { class: 'row' },
                h('span', { class: 'soft small nowrap' }, moment(at, now())),
                h('span', { class: `line ${tone.toLowerCase()}` }, text),
              ),
            ),
          ),
      ),
  )
}
