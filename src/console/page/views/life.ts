// The life of one object: its states as bars, what was not recorded, and what happened, line by line.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAnswer, useApp } from '../app.ts'
import { AsTable, Choice, Page } from '../frame.ts'
import type { ObjectName } from '../../basics.ts'
import type { LifeAnswer, LifeLine } from '../../protocol.ts'
import { Lanes } from '../parts/lanes.ts'
import { capitalized, nounOf } from '../parts/noun.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { hour, moment, span } from '../parts/time.ts'
import { to, withParams, hrefOf } from '../router.ts'

const HOUR = 3_600_000
/** How far back; all of it if empty. */
const SPANS: Readonly<Record<string, string>> = {
  [HOUR]: 'Last hour',
  [6 * HOUR]: 'Last 6 hours',
  [24 * HOUR]: 'Last day',
  [7 * 24 * HOUR]: 'Last 7 days',
  [30 * 24 * HOUR]: 'Last 30 days',
  all: 'All that is kept',
}
const DAY = String(24 * HOUR)

export function LifeView(): VNode {
  const { route } = useApp()
  const { cluster, kind, name } = route
  if (cluster === undefined || kind === undefined || name === undefined)
    return h(
      Page,
      { title: 'A life', commands: ['kubenode history node/NAME'] },
      h(Notice, { title: 'No object is chosen' }, h('a', { href: to(route, 'search') }, 'Search for one'), '.'),
    )
  return h(Life, { cluster, kind, name })
}

function Life({ cluster, kind, name }: ObjectName): VNode {
  const { route, now } = useApp()
  const length = route.params['span'] ?? DAY
  const until = route.params['at']
  // The moment of opening: a question for each redraw would never end.
  const [opened] = useState(now)
  const ends = until === undefined ? opened : Number(until)
  const query = new URLSearchParams({
    cluster,
    kind,
    name,
    ...(length !== 'all' && { from: String(ends - Number(length)) }),
    ...defined({ to: until }),
  })
  const loaded = useAnswer<LifeAnswer>(`/api/life?${query}`)
  return h(
    Page,
    {
      title: `The life of ${name}`,
      sentence:
        loaded.state === 'Ready'
          ? `${capitalized(nounOf(kind))} in cluster ${cluster}, ${span(loaded.value.to - loaded.value.from)} until ${hour(loaded.value.to, now())}.`
          : `${capitalized(nounOf(kind))} in cluster ${cluster}`,
      tools: [h(Choice, { label: 'Time', name: 'span', value: length, options: SPANS }), h(AsTable, {})],
      commands: loaded.state === 'Ready' ? [loaded.value.command] : [],
    },
    shown(loaded, (life) =>
      h(
        'div',
        { class: 'wide' },
        route.params['as'] === 'table' ? h(States, { life }) : h(Lanes, { life }),
        h(Lines, { life }),
      ),
    ),
  )
}

interface StateRow {
  readonly id: string
  readonly lane: string
  readonly from: number
  readonly ms: number
  readonly text: string
}

function States({ life }: { readonly life: LifeAnswer }): VNode {
  const { now } = useApp()
  const rows = life.lanes.flatMap(({ name, states }) =>
    states.flatMap(({ from, text }, n): StateRow[] => {
      const [since, until] = [Math.max(from, life.from), states[n + 1]?.from ?? life.to]
      return until <= life.from ? [] : [{ id: `${name} ${from}`, lane: name, from: since, ms: until - since, text }]
    }),
  )
  return h(Table<StateRow>, {
    caption: 'States',
    rows,
    idOf: ({ id }) => id,
    prefix: 'states-',
    columns: [
      { id: 'lane', title: 'Of', of: (r) => r.lane, by: (r) => r.lane },
      { id: 'text', title: 'State', of: (r) => r.text, by: (r) => r.text },
      { id: 'from', title: 'Began', of: (r) => moment(r.from, now()), by: (r) => r.from },
      { id: 'for', title: 'Lasted', of: (r) => span(r.ms), by: (r) => r.ms },
    ],
  })
}

function Lines({ life }: { readonly life: LifeAnswer }): VNode {
  const { route, now } = useApp()
  const rows = life.lines.map((line, n) => ({ ...line, id: String(n) })).toReversed()
  return h(
    'div',
    { class: 'stack' },
    life.cut > 0 && h('p', { class: 'soft' }, `${life.cut} earlier lines are left out; choose a shorter time.`),
    h(Table<LifeLine & { readonly id: string }>, {
      caption: 'What happened',
      rows,
      idOf: ({ id }) => id,
      prefix: 'lines-',
      empty: 'Nothing happened in this time.',
      columns: [
        {
          id: 'at',
          title: 'When',
          of: ({ at }) =>
            h(
              'a',
              { href: hrefOf(withParams(route, { at: String(at) })), title: 'Its life until then' },
              moment(at, now()),
            ),
          by: ({ at }) => at,
          isWhole: true,
        },
        { id: 'text', title: 'What', of: ({ text, tone }) => h('span', { class: `line ${tone.toLowerCase()}` }, text) },
      ],
    }),
  )
}
