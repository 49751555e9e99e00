// Times as the Go types metav1.Time and metav1.MicroTime read and write them, with the words of their errors.

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)$/
const LAYOUT = '2006-01-02T15:04:05Z07:00'
const MICRO_LAYOUT = '2006-01-02T15:04:05.000000Z07:00'

export type TimeOutcome = { readonly time: string } | { readonly error: string }

const cannot = (text: string, layout: string, rest: string, element: string): TimeOutcome => ({
  error: `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(element)}`,
})

/** Whole seconds in UTC. */
export function readTime(text: string): TimeOutcome {
  const ms = instant(text)
  if (ms === undefined) return firstMismatch(text, LAYOUT)
  return { time: `${new Date(Math.floor(ms / 1_000) * 1_000).toISOString().slice(0, 19)}Z` }
}

/** Exactly six digits after the point, as the layout asks for. */
export function readMicroTime(text: string): TimeOutcome {
  const ms = instant(text)
  const fraction = RFC3339.exec(text)?.[7] ?? ''
  if (ms === undefined) return firstMismatch(text, MICRO_LAYOUT)
  const zone = RFC3339.exec(text)?.[8] ?? ''
  if (fraction === '') return cannot(text, MICRO_LAYOUT, zone, '.000000')
  if (fraction.length < 7) return cannot(text, MICRO_LAYOUT, `${fraction}${zone}`, '.000000')
  if (fraction.length > 7) return cannot(text, MICRO_LAYOUT, `${fraction.slice(7)}${zone}`, 'Z07:00')
  return { time: `${new Date(Math.floor(ms / 1_000) * 1_000).toISOString().slice(0, 19)}.${fraction.slice(1)}Z` }
}

function instant(text: string): number | undefined {
  const m = RFC3339.exec(text)
  if (m === null) return undefined
  const [, year, month, day, hour, minute, second] = m.map(Number)
  if (month === undefined || month < 1 || month > 12 || day === undefined || day < 1) return undefined
  if (day > new Date(Date.UTC(year ?? 0, month, 0)).getUTCDate()) return undefined
  if ((hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) return undefined
  const ms = Date.parse(text.replace(',', '.'))
  return Number.isNaN(ms) ? undefined : ms
}

const ELEMENTS: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d\d/, '01'],
  [/^-/, '-'],
  [/^\d\d/, '02'],
  [/^T/, 'T'],
  [/^\d\d/, '15'],
  [/^:/, ':'],
  [/^\d\d/, '04'],
  [/^:/, ':'],
  [/^\d\d/, '05'],
]

/** Walks the layout as Go does and names the first element that does not fit. */
function firstMismatch(text: string, layout: string): TimeOutcome {
  let rest = text
  for (const [pattern, element] of ELEMENTS) {
    const m = pattern.exec(rest)
    if (m === null) return cannot(text, layout, rest, element)
    rest = rest.slice(m[0].length)
  }
  const micro = layout === MICRO_LAYOUT
  const fraction = micro ? /^\.\d{6}/ : /^(\.\d+)?/
  const m = fraction.exec(rest)
  if (m === null) return cannot(text, layout, rest, '.000000')
  rest = rest.slice(m[0].length)
  if (!/^(Z|[+-]\d\d:\d\d)$/.test(rest)) return cannot(text, layout, rest, 'Z07:00')
  return { error: `parsing time ${JSON.stringify(text)}: value out of range` }
}
