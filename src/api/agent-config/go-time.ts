// Parses times in Go's layouts, which describe log files ("Jan _2 15:04:05"). Pure.
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const FULL = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

interface Fields {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  ms: number
  isAfternoon: boolean | undefined
  /** Minutes east of Greenwich; undefined: local time. */
  zone: number | undefined
}

interface Token {
  readonly source: string
  readonly set: (fields: Fields, text: string) => void
}

const number = (source: string, set: (f: Fields, n: number) => void): Token => ({
  source,
  set: (f, text) => set(f, Number(text)),
})

/** Only names ignore case. */
const named = (names: readonly string[]): Token => ({
  source: names.map((name) => name.replaceAll(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}]`)).join('|'),
  set: (f, text) => (f.month = names.indexOf(text.toLowerCase()) + 1),
})

/** As in Go: the longest name first. Weekdays do not affect the result. */
const TOKENS: readonly (readonly [name: string, token: Token])[] = [
  ['January', named(FULL)],
  ['Jan', named(MONTHS)],
  ['Monday', { source: '[A-Za-z]+day', set: () => undefined }],
  ['Mon', { source: '[A-Za-z]{3}', set: () => undefined }],
  ['MST', { source: '[A-Z]{3,4}', set: (f, t) => (f.zone = t === 'UTC' || t === 'GMT' ? 0 : f.zone) }],
  ['2006', number('\\d{4}', (f, n) => (f.year = n))],
  ['-07:00', { source: '[+-]\\d\\d:\\d\\d', set: (f, t) => (f.zone = zoneOf(t)) }],
  ['Z07:00', { source: 'Z|[+-]\\d\\d:\\d\\d', set: (f, t) => (f.zone = zoneOf(t)) }],
  ['-0700', { source: '[+-]\\d{4}', set: (f, t) => (f.zone = zoneOf(t)) }],
  ['Z0700', { source: 'Z|[+-]\\d{4}', set: (f, t) => (f.zone = zoneOf(t)) }],
  ['-07', { source: '[+-]\\d\\d', set: (f, t) => (f.zone = zoneOf(t)) }],
  ['01', number('\\d\\d', (f, n) => (f.month = n))],
  ['02', number('\\d\\d', (f, n) => (f.day = n))],
  ['03', number('\\d\\d', (f, n) => (f.hour = n))],
  ['04', number('\\d\\d', (f, n) => (f.minute = n))],
  ['05', number('\\d\\d(?:[.,]\\d+)?', setSeconds)],
  ['06', number('\\d\\d', (f, n) => (f.year = n >= 69 ? 1900 + n : 2000 + n))],
  ['15', number('\\d\\d', (f, n) => (f.hour = n))],
  ['_2', number(' \\d|\\d\\d|\\d', (f, n) => (f.day = n))],
  ['PM', { source: 'AM|PM', set: (f, t) => (f.isAfternoon = t === 'PM') }],
  ['pm', { source: 'am|pm', set: (f, t) => (f.isAfternoon = t === 'pm') }],
  ['1', number('\\d\\d?', (f, n) => (f.month = n))],
  ['2', number('\\d\\d?', (f, n) => (f.day = n))],
  ['3', number('\\d\\d?', (f, n) => (f.hour = n))],
  ['4', number('\\d\\d?', (f, n) => (f.minute = n))],
  ['5', number('\\d\\d?(?:[.,]\\d+)?', setSeconds)],
]

/** A fraction may follow the seconds even if the layout has none. */
function setSeconds(f: Fields, n: number): void {
  f.second = Math.floor(n)
  f.ms = Math.floor((n - f.second) * 1_000 + 1e-6)
}

function zoneOf(text: string): number {
  if (text === 'Z') return 0
  const [hours, minutes] = [text.slice(1, 3), text.replace(':', '').slice(3, 5)]
  return (text.startsWith('-') ? -1 : 1) * (Number(hours) * 60 + Number(minutes === '' ? '0' : minutes))
}

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

export interface GoLayout {
  /** Milliseconds since 1970; undefined if the text does not match. A layout without a year means the year of `now`. */
  parse(text: string, now: number): number | undefined
}

/** Undefined if the layout contains none of Go's elements. */
export function goLayout(layout: string): GoLayout | undefined {
  const tokens: Token[] = []
  let source = ''
  for (let at = 0; at < layout.length;) {
    const fraction = /^[.,](?:0+|9+)(?!\d)/.exec(layout.slice(at))
    if (fraction !== null && source.endsWith(')')) {
      // Parsed with the seconds.
      at += fraction[0].length
      continue
    }
    const found = TOKENS.find(([name]) => layout.startsWith(name, at))
    if (found === undefined) source += quoted(layout[at] ?? '')
    else {
      tokens.push(found[1])
      source += `(${found[1].source})`
    }
    at += found?.[0].length ?? 1
  }
  if (tokens.length === 0) return undefined
  // Built from this file's own pieces and quoted text: linear, without an untrusted pattern.
  const regex = new RegExp(`^${source}$`)
  return { parse: (text, now) => timeOf(regex.exec(text), tokens, now) }
}

/** A leap year, as in Go. */
const NO_YEAR = 0

const daysOf = (month: number, year: number): number =>
  new Date(Date.UTC(year === NO_YEAR ? 2_000 : year, month, 0)).getUTCDate()

function timeOf(match: RegExpExecArray | null, tokens: readonly Token[], now: number): number | undefined {
  if (match === null) return undefined
  const f: Fields = {
    year: NO_YEAR,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    ms: 0,
    isAfternoon: undefined,
    zone: undefined,
  }
  tokens.forEach((token, n) => token.set(f, (match[n + 1] ?? '').replace(',', '.').trim()))
  if (f.isAfternoon !== undefined) f.hour = (f.hour % 12) + (f.isAfternoon ? 12 : 0)
  if (f.month < 1 || f.month > 12 || f.hour > 23 || f.minute > 59 || f.second > 59) return undefined
  if (f.day < 1 || f.day > daysOf(f.month, f.year)) return undefined
  const year = f.year === NO_YEAR ? new Date(now).getFullYear() : f.year
  const parts = [year, f.month - 1, f.day, f.hour, f.minute, f.second, f.ms] as const
  const time = f.zone === undefined ? new Date(...parts).getTime() : Date.UTC(...parts) - f.zone * 60_000
  // A line from the last evening of the year, read after midnight.
  const isNextYear = f.year === NO_YEAR && time > now + DAY_MS
  return isNextYear ? new Date(year - 1, ...(parts.slice(1) as [number, number])).getTime() : time
}

const DAY_MS = 86_400_000
