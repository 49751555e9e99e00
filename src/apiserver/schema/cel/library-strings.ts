// Functions on strings. Positions and lengths are code points, as in CEL, not the UTF-16 units of JavaScript.
import { SHORT_ESCAPES } from '#lib/go-format.ts'
import { type Cost, fn, free, method, type Overload, readsFirst, type Run, traversal } from './functions.ts'
import type { Pattern } from './pattern.ts'
import { formatText } from './format-text.ts'
import { BOOL, DYN, INT, listOf, STRING } from './types.ts'
import { CelError, CelList, type CelValue, codePointCount, sizeOf } from './values.ts'

const STRINGS = listOf(STRING)

const charsOf = (s: string): string[] => Array.from(s)

const outOfRange = (i: bigint): CelError => new CelError(`index out of range: ${i}`)

const containsCost: Cost = ([text = null, part = null]) => traversal(sizeOf(text)) * traversal(sizeOf(part))

/** Below this many steps of the matcher (states times characters) the guess of the real server is charged alone. */
const CHEAP_MATCH = 200_000
/** Steps of the matcher in the time of one step of an expression. */
const MATCH_STEPS = 200

/** The real server guesses: the text once over, for each four characters of the pattern. Patterns that are small as text but large
 * as a machine would be cheap then; a match that can really take long costs what it can take. */
function payForMatch(text: string, source: string, run: Run): Pattern | undefined {
  run.spend(traversal(1 + sizeOf(text)) * Math.ceil(sizeOf(source) * 0.25))
  const compiled = run.memo.pattern(source, run.effort)
  // Compiling takes as long as its machine is large; once in an evaluation, so that the cost is the same each time.
  if (!run.patterns.has(source)) run.spend(compiled?.size ?? source.length)
  run.patterns.add(source)
  const steps = (compiled?.size ?? 0) * text.length
  if (steps > CHEAP_MATCH) run.spend(Math.ceil(steps / MATCH_STEPS))
  return compiled
}

function matches(text: string, source: string, run: Run): CelValue {
  const re = payForMatch(text, source, run)
  return re === undefined
    ? new CelError(`error parsing regexp: ${source}`)
    : re.meter(run.effort, text.length, () => re.regex.test(text))
}

function substring(text: string, from: bigint, to?: bigint): CelValue {
  const chars = charsOf(text)
  const end = to ?? BigInt(chars.length)
  if (from < 0n || from > chars.length) return outOfRange(from)
  if (end < 0n || end > chars.length) return outOfRange(end)
  if (from > end) return new CelError(`invalid substring range. start: ${from}, end: ${end}`)
  return chars.slice(Number(from), Number(end)).join('')
}

function charAt(text: string, i: bigint): CelValue {
  const chars = charsOf(text)
  return i < 0n || i > chars.length ? outOfRange(i) : (chars[Number(i)] ?? '')
}

/** The position in code points that a position in UTF-16 units is. */
const position = (text: string, unit: number): bigint => (unit < 0 ? -1n : BigInt(codePointCount(text.slice(0, unit))))

function indexOf(text: string, part: string, from: bigint): CelValue {
  if (part === '') return from
  const chars = charsOf(text)
  if (from < 0n || from > chars.length) return outOfRange(from)
  return position(text, text.indexOf(part, chars.slice(0, Number(from)).join('').length))
}

function lastIndexOf(text: string, part: string, from: bigint): CelValue {
  const chars = charsOf(text)
  if (part === '') return from
  if (from < 0n || from > chars.length) return outOfRange(from)
  return position(text, text.lastIndexOf(part, chars.slice(0, Number(from)).join('').length))
}

function replace(text: string, old: string, by: string, limit: bigint, run: Run): string {
  if (limit === 0n) return text
  const pieces = old === '' ? charsOf(text) : text.split(old)
  const max = limit < 0n ? pieces.length + 1 : Number(limit)
  // A replacement may produce a lot from little: its output is charged before it is built.
  run.spend(traversal(Math.min(max, pieces.length + 1) * by.length))
  if (old === '') return replaceBetween(pieces, by, max)
  const done = pieces.slice(0, max + 1).join(by)
  const rest = pieces.slice(max + 1)
  return rest.length === 0 ? done : `${done}${old}${rest.join(old)}`
}

/** The empty string is found before each character and at the end. */
function replaceBetween(chars: readonly string[], by: string, max: number): string {
  let out = ''
  chars.forEach((c, i) => (out += i < max ? by + c : c))
  return chars.length < max ? out + by : out
}

function split(text: string, by: string, limit: bigint): CelValue {
  if (limit === 0n) return CelList.of([])
  const pieces = by === '' ? charsOf(text) : text.split(by)
  if (limit < 0n || pieces.length <= limit) return CelList.of(pieces)
  const head = pieces.slice(0, Number(limit) - 1)
  return CelList.of([...head, pieces.slice(Number(limit) - 1).join(by)])
}

function join(list: CelList, by: string, run: Run): CelValue {
  const items = list.toArray()
  const size = items.reduce((n: number, i) => n + (typeof i === 'string' ? i.length : 0), 0) + by.length * items.length
  run.spend(Math.ceil(size * 0.2))
  return items.every((i) => typeof i === 'string') ? items.join(by) : new CelError('no such overload')
}

const ascii = (from: string, to: (s: string) => string) => (s: string) => s.replace(new RegExp(`[${from}]+`, 'g'), to)

/** White space as Unicode has it, which is what Go trims. */
const WHITE = /[\s\u0085]/

/** From both ends: a pattern that is bound to the end alone begins again at each character of white space. */
export function trim(s: string): string {
  let [from, to] = [0, s.length]
  while (from < to && WHITE.test(s.charAt(from))) from++
  while (to > from && WHITE.test(s.charAt(to - 1))) to--
  return s.slice(from, to)
}

/** Counting characters is one step on the real server; here long strings cost what walking them does. */
const sizeCost: Cost = ([s = null]) => 1 + (typeof s === 'string' ? s.length >> 6 : 0)

const S = STRING
const all = -1n

export const STRING_FUNCTIONS: readonly Overload[] = [
  fn('size', [S], INT, (s: string) => BigInt(codePointCount(s)), sizeCost),
  method('size', [S], INT, (s: string) => BigInt(codePointCount(s)), sizeCost),
  method('contains', [S, S], BOOL, (s: string, t: string) => s.includes(t), containsCost),
  method('startsWith', [S, S], BOOL, (s: string, t: string) => s.startsWith(t), readsFirst()),
  method('endsWith', [S, S], BOOL, (s: string, t: string) => s.endsWith(t), readsFirst()),
  fn('matches', [S, S], BOOL, matches, free),
  method('matches', [S, S], BOOL, matches, free),
  method('charAt', [S, INT], S, charAt),
  method('indexOf', [S, S], INT, (s: string, t: string) => indexOf(s, t, 0n), readsFirst()),
  method('indexOf', [S, S, INT], INT, (s: string, t: string, i: bigint) => indexOf(s, t, i), readsFirst()),
  method(
    'lastIndexOf',
    [S, S],
    INT,
    (s: string, t: string) => lastIndexOf(s, t, BigInt(codePointCount(s))),
    readsFirst(),
  ),
  method('lastIndexOf', [S, S, INT], INT, (s: string, t: string, i: bigint) => lastIndexOf(s, t, i), readsFirst()),
  method(
    'lowerAscii',
    [S],
    S,
    ascii('A-Z', (s) => s.toLowerCase()),
    readsFirst(),
  ),
  method(
    'upperAscii',
    [S],
    S,
    ascii('a-z', (s) => s.toUpperCase()),
    readsFirst(),
  ),
  method(
    'replace',
    [S, S, S],
    S,
    (s: string, a: string, b: string, run: Run) => replace(s, a, b, all, run),
    readsFirst(2),
  ),
  method('replace', [S, S, S, INT], S, replace, readsFirst(2)),
  method('split', [S, S], STRINGS, (s: string, by: string) => split(s, by, all), readsFirst(2)),
  method('split', [S, S, INT], STRINGS, (s: string, by: string, n: bigint) => split(s, by, n), readsFirst(2)),
  method('substring', [S, INT], S, (s: string, i: bigint) => substring(s, i), readsFirst()),
  method('substring', [S, INT, INT], S, (s: string, i: bigint, j: bigint) => substring(s, i, j), readsFirst()),
  method('trim', [S], S, trim, readsFirst()),
  method('join', [STRINGS], S, (l: CelList, run: Run) => join(l, '', run), free),
  method('join', [STRINGS, S], S, join, free),
  method('format', [S, listOf(DYN)], S, formatText, readsFirst()),
  method('find', [S, S], S, find, free),
  method('findAll', [S, S], STRINGS, (s: string, p: string, run: Run) => findAll(s, p, all, run), free),
  method('findAll', [S, S, INT], STRINGS, findAll, free),
  fn('strings.quote', [S], S, quote, readsFirst()),
]

function find(text: string, source: string, run: Run): CelValue {
  const re = payForMatch(text, source, run)
  if (re === undefined) return new CelError(`Illegal regex: ${source}`)
  const m = re.regex.matcher(text)
  return re.meter(run.effort, text.length, () => m.find()) ? (m.group() ?? '') : ''
}

function findAll(text: string, source: string, limit: bigint, run: Run): CelValue {
  const re = payForMatch(text, source, run)
  if (re === undefined) return new CelError(`Illegal regex: ${source}`)
  const found: string[] = []
  const m = re.regex.matcher(text)
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)
  const next = (from: number) => re.meter(run.effort, text.length - from, () => m.find())
  for (let more = next(0); more && found.length < most; more = next(m.end())) {
    found.push(m.group() ?? '')
    // Each next match may read to the end of the text again.
    run.spend(1 + Math.ceil(((text.length - m.end()) * re.size) / (2 * MATCH_STEPS)))
  }
  return CelList.of(found)
}

function quote(text: string): string {
  return `"${Array.from(text.toWellFormed(), (c) => SHORT_ESCAPES[c] ?? c).join('')}"`
}
