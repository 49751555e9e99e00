// A report as one file for a browser: no script, nothing loaded, light or dark as the reader's system is. Charts are drawn from the same cells. Pure.
import type { Bar, Chart, Report, Section } from './report.ts'
import { placeText, rangeText } from './form-text.ts'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #fff; --line: #d1d9e0; --bar: #0a69da; --bad: #b35900 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --paper: #0d1117; --line: #3d444d; --bar: #4493f8; --bad: #e0a458 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 0.25rem }
.dim { color: var(--dim); margin: 0 0 0.75rem } .headline { font-size: 2rem; font-weight: 600; margin: 0.5rem 0 }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; color: var(--dim); white-space: nowrap } td.n { text-align: right; white-space: nowrap } td.u { color: var(--bad) }
svg { max-width: 100%; height: auto; display: block; margin: 0.75rem 0 } svg text { font: 12px system-ui, sans-serif; fill: var(--ink) }
svg .bar { fill: var(--bar) } svg .rail { fill: var(--line) } svg .gap { fill: none; stroke: var(--bad); stroke-dasharray: 3 3 }
@media print { body { margin: 0 auto } h2 { break-after: avoid } table, svg { break-inside: avoid } }
`

const WIDTH = 720
const LABEL = 190
const VALUE = 90
const ROW = 22
const BAR = 12

/** The longest bar is the largest value, unless the chart has an end of its own. */
const fullOf = ({ most, bars }: Chart): number => most ?? Math.max(1e-9, ...bars.map((b) => b.value ?? 0))

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

function rowsChart(chart: Chart): string {
  const room = WIDTH - LABEL - VALUE
  const full = fullOf(chart)
  const row = ({ label, value, text }: Bar, n: number): string => {
    const y = n * ROW
    const length = value === undefined ? 0 : Math.max(1, Math.min(1, value / full) * room)
    const bar =
      value === undefined
        ? `<rect class="gap" x="${LABEL}" y="${y + 5}" width="${room}" height="${BAR}"/>`
        : `<rect class="rail" x="${LABEL}" y="${y + 5}" width="${room}" height="${BAR}"/><rect class="bar" x="${LABEL}" y="${y + 5}" width="${length.toFixed(1)}" height="${BAR}"/>`
    return `<g><title>${escaped(`${label}: ${text}`)}</title><text x="0" y="${y + 15}">${escaped(shortened(label, 28))}</text>${bar}<text x="${WIDTH - VALUE + 8}" y="${y + 15}">${escaped(text)}</text></g>`
  }
  return svg(chart, chart.bars.length * ROW, chart.bars.map(row).join(''))
}

const HEIGHT = 110
const FOOT = 18
/** Few days do not fill the page. */
const WIDEST = 60
const NINES = 0.99

/** Shares near one differ in their third digit: the scale begins where the lowest bar is, and says so. */
function columnsChart(chart: Chart): string {
  const known = chart.bars.flatMap((b) => b.value ?? [])
  const least = known.length > 0 && chart.most === 1 && Math.min(...known) > NINES ? NINES : 0
  const full = fullOf(chart)
  const step = Math.min(WIDEST, WIDTH / Math.max(1, chart.bars.length))
  const column = ({ label, value, text }: Bar, n: number): string => {
    const x = (n * step + 1).toFixed(1)
    const width = Math.max(1, step - 3).toFixed(1)
    const tall = value === undefined ? HEIGHT : Math.max(1, ((value - least) / (full - least)) * HEIGHT)
    const kind = value === undefined ? 'gap' : 'bar'
    const isNamed = n === 0 || n === chart.bars.length - 1
    return `<g><title>${escaped(`${label}: ${text}`)}</title><rect class="${kind}" x="${x}" y="${(HEIGHT - tall).toFixed(1)}" width="${width}" height="${tall.toFixed(1)}"/>${isNamed ? `<text x="${x}" y="${HEIGHT + FOOT - 4}">${escaped(label.slice(-5))}</text>` : ''}</g>`
  }
  const note = least === 0 ? '' : `<p class="dim">${escaped(chart.title)}; the scale begins at 99 %.</p>`
  return `${svg(chart, HEIGHT + FOOT, chart.bars.map(column).join(''))}${note}`
}

const svg = ({ title }: Chart, height: number, inner: string): string =>
  `<svg viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">${inner}</svg>`

function chartOf({ chart }: Section): string {
  if (chart === undefined || chart.bars.length === 0) return ''
  return chart.form === 'rows' ? rowsChart(chart) : columnsChart(chart)
}

function tableOf({ columns, rows }: Section): string {
  if (rows.length === 0) return '<p>None.</p>'
  const head = columns.map((c) => `<th>${escaped(c)}</th>`).join('')
  const body = rows.map((row) => {
    const cells = row.map(({ text, value }) => {
      const kind = value === null ? ' class="u"' : typeof value === 'number' ? ' class="n"' : ''
      return `<td${kind}>${escaped(text)}</td>`
    })
    return `<tr>${cells.join('')}</tr>`
  })
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}

export function htmlText(report: Report): string {
  const { title, cluster, headline, sections, unknown } = report
  const parts = sections.map(
    (s) =>
      `<section><h2>${escaped(s.title)}</h2><p class="dim">${escaped(s.about)}</p>${chartOf(s)}${tableOf(s)}</section>`,
  )
  const gaps =
    unknown.length === 0
      ? ''
      : `<section><h2>Not known</h2><ul>${unknown.map((u) => `<li>${escaped(u)}</li>`).join('')}</ul></section>`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(`${title} of ${cluster}`)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(title)}</h1><p class="dim">${escaped(placeText(report))}, ${rangeText(report)}</p><p class="headline">${escaped(headline.text)}</p>
${parts.join('\n')}
${gaps}
</body></html>
`
}
