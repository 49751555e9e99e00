// Charts of reports, drawn as SVG from their cells: bars, days, and counts over time. Each value is also in a table or a title, so nothing is in a picture alone.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { MachineCounts, ReportChart } from '../../report.ts'
import { dayText } from './time.ts'

const WIDTH = 720
const HEIGHT = 120
/** Shares near one differ in their third digit: below this, the scale begins at zero. */
const NINES = 0.99
const WIDEST = 48
/** One day is a number, which the table has. */
const LEAST_DAYS = 2

type Bar = ReportChart['bars'][number]

const fullOf = ({ most, bars }: ReportChart): number => most ?? Math.max(1e-9, ...bars.map((b) => b.value ?? 0))

/** `title`: what stands above it. */
export function Chart({ chart, title }: { readonly chart: ReportChart; readonly title: string }): VNode | null {
  if (chart.bars.length < (chart.form === 'rows' ? 1 : LEAST_DAYS)) return null
  return h(
    'figure',
    { class: 'sheet pad chart' },
    chart.form === 'columns'
      ? columnBars(chart)
      : [rowBars(chart), chart.title !== title && h('figcaption', { class: 'soft small' }, chart.title)],
  )
}

/** Words beside bars wrap on a phone, which text in SVG does not. */
const rowBars = (chart: ReportChart): VNode =>
  h(
    'ul',
    { class: 'chart-rows', 'aria-label': chart.title },
    chart.bars.map((bar) =>
      h(
        'li',
        { key: bar.label },
        h('span', { class: 'name' }, bar.label),
        h(
          'svg',
          { viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
          h('rect', { class: bar.value === undefined ? 'chart-gap' : 'chart-rail', width: 100, height: 8 }),
          bar.value !== undefined &&
            h('rect', { class: 'chart-bar', width: Math.min(100, (bar.value / fullOf(chart)) * 100), height: 8 }),
        ),
        h('span', { class: 'chart-value' }, bar.text),
      ),
    ),
  )

function columnBars(chart: ReportChart): VNode {
  const known = chart.bars.flatMap((b) => b.value ?? [])
  const least = known.length > 0 && chart.most === 1 && Math.min(...known) > NINES ? NINES : 0
  const full = fullOf(chart)
  const step = Math.min(WIDEST, WIDTH / chart.bars.length)
  const column = ({ label, value, text }: Bar, n: number): VNode => {
    const tall = value === undefined ? HEIGHT : Math.max(1, ((value - least) / (full - least)) * HEIGHT)
    return h(
      'rect',
      {
        key: label,
        class: value === undefined ? 'chart-gap' : 'chart-bar',
        x: n * step + 1,
        y: HEIGHT - tall,
        width: Math.max(1, step - 3),
        height: tall,
      },
      h('title', {}, `${dayText(label)}: ${text}`),
    )
  }
  const [first, last] = [chart.bars[0], chart.bars.at(-1)]
  return h(
    'div',
    {},
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `${chart.title}: ${chart.bars.map((b) => `${dayText(b.label)} ${b.text}`).join(', ')}`,
      },
      h('line', { class: 'chart-rail', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
      chart.bars.map(column),
    ),
    h(
      'figcaption',
      { class: 'soft small' },
      `${chart.title}, ${dayText(first?.label ?? '')}${last === first ? '' : ` to ${dayText(last?.label ?? '')}`}${least === 0 ? '' : '; the scale begins at 99 %'}`,
    ),
  )
}

const LINES = [
  ['ready', 'ready', 'good'],
  ['silent', 'silent', 'wait'],
  ['repairing', 'in repair', 'busy'],
] as const satisfies readonly (readonly [keyof MachineCounts, string, string])[]
/** A console that took no count for longer was not reading the cluster: the line breaks. */
const GAP_MS = 90_000

/** Machines by state over the last hours. */
export function Counts({ seen }: { readonly seen: readonly MachineCounts[] }): VNode | null {
  const [first, last] = [seen[0], seen.at(-1)]
  if (first === undefined || last === undefined || last.at === first.at) return null
  const most = Math.max(1, ...seen.map((s) => s.total))
  const x = (at: number): string => (((at - first.at) / (last.at - first.at)) * WIDTH).toFixed(1)
  const y = (n: number): string => (HEIGHT - (n / most) * (HEIGHT - 4) - 2).toFixed(1)
  const path = (key: (typeof LINES)[number][0]): string =>
    seen
      .map((s, n) => {
        const before = seen[n - 1]
        const isStart = before === undefined || s.at - before.at > GAP_MS
        return `${isStart ? 'M' : 'L'}${x(s.at)} ${y(s[key])}`
      })
      .join('')
  return h(
    'figure',
    { class: 'sheet pad chart' },
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `Machines now: ${LINES.map(([key, name]) => `${last[key]} ${name}`).join(', ')}, of ${last.total}`,
      },
      h('line', { class: 'chart-rail', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
      LINES.map(([key, name, tone]) =>
        h(
          'path',
          { key: name, class: `chart-line tone-${tone}`, d: path(key) },
          h('title', {}, `${name}: ${last[key]} now`),
        ),
      ),
    ),
    h(
      'div',
      { class: 'row apart soft small', 'aria-hidden': 'true' },
      h('span', {}, `${hours(last.at - first.at)} ago`),
      h('span', {}, 'now'),
    ),
    h(
      'figcaption',
      { class: 'row small' },
      LINES.map(([key, name, tone]) =>
        h(
          'span',
          { key: name, class: 'mark' },
          h(
            'svg',
            { viewBox: '0 0 8 8', class: `tone-${tone}`, 'aria-hidden': 'true' },
            h('rect', { width: 8, height: 8, fill: 'currentcolor' }),
          ),
          `${name} ${last[key]}`,
        ),
      ),
      h('span', { class: 'soft' }, `of ${last.total} machines, as this console counted them`),
    ),
  )
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
function hours(ms: number): string {
  if (ms >= 2 * HOUR_MS) return `${Math.round(ms / HOUR_MS)} hours`
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS))
  return minutes === 1 ? '1 minute' : `${minutes} minutes`
}
