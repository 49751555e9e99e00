// Functions on strings. Positions and lengths are code points, as in CEL, not the UTF-16 units of JavaScript.
import { type Cost, fn, method, type Overload, readsFirst, regexCost, traversal } from './functions.ts'
import { pattern } from './pattern.ts'
import { formatText } from './format-text.ts'
import { BOOL, DYN, INT, listOf, STRING } from './types.ts'
import { CelError, CelList, type CelValue, codePointCount, sizeOf } from './values.ts'

const STRINGS = listOf(STRING)

const charsOf = (s: string): string[] => Array.from(s)

const outOfRange = (i: bigint): CelError => new CelError(`index out of range: ${i}`)

const containsCost: Cost = ([text = null, part = null]) => traversal(sizeOf(text)) * traversal(sizeOf(part))

function matches(text: string, source: string): CelValue {
  const re = pattern(source)
  return re === undefined ? new CelError(`error parsing regexp: ${source}`) : re.test(text)
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

function replace(text: string, old: string, by: string, limit: bigint): string {
  if (limit === 0n) return text
  const pieces = old === '' ? charsOf(text) : text.split(old)
  const max = limit < 0n ? pieces.length + 1 : Number(limit)
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

function join(list: CelList, by: string): CelValue {
  const items = list.toArray()
  return items.every((i) => typeof i === 'string') ? items.join(by) : new CelError('no such overload')
}

const joinCost: Cost = (_, result) => Math.ceil(sizeOf(result) * 0.2)

const ascii = (from: string, to: (s: string) => string) => (s: string) => s.replace(new RegExp(`[${from}]+`, 'g'), to)

/** White space as Unicode has it, which is what Go trims. */
const trim = (s: string): string => s.replace(/^[\s\u0085]+|[\s\u0085]+$/g, '').replace(/^\ufeff$/, '')

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
  fn('matches', [S, S], BOOL, matches, regexCost),
  method('matches', [S, S], BOOL, matches, regexCost),
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
  method('replace', [S, S, S], S, (s: string, a: string, b: string) => replace(s, a, b, all), replaceCost),
  method(
    'replace',
    [S, S, S, INT],
    S,
    (s: string, a: string, b: string, n: bigint) => replace(s, a, b, n),
    replaceCost,
  ),
  method('split', [S, S], STRINGS, (s: string, by: string) => split(s, by, all), readsFirst(2)),
  method('split', [S, S, INT], STRINGS, (s: string, by: string, n: bigint) => split(s, by, n), readsFirst(2)),
  method('substring', [S, INT], S, (s: string, i: bigint) => substring(s, i), readsFirst()),
  method('substring', [S, INT, INT], S, (s: string, i: bigint, j: bigint) => substring(s, i, j), readsFirst()),
  method('trim', [S], S, trim, readsFirst()),
  method('join', [STRINGS], S, (l: CelList) => join(l, ''), joinCost),
  method('join', [STRINGS, S], S, (l: CelList, by: string) => join(l, by), joinCost),
  method('format', [S, listOf(DYN)], S, formatText, readsFirst()),
  method('find', [S, S], S, find, regexCost),
  method('findAll', [S, S], STRINGS, (s: string, p: string) => findAll(s, p, all), regexCost),
  method('findAll', [S, S, INT], STRINGS, (s: string, p: string, n: bigint) => findAll(s, p, n), regexCost),
  fn('strings.quote', [S], S, quote, readsFirst()),
]

/** A replacement may make much out of little: what is made is paid for too. */
function replaceCost(args: readonly CelValue[], result: CelValue): number {
  const [text = null] = args
  return Math.ceil((sizeOf(text) + Math.max(sizeOf(text), sizeOf(result))) * 0.1)
}

function find(text: string, source: string): CelValue {
  const re = pattern(source)
  if (re === undefined) return new CelError(`Illegal regex: ${source}`)
  const m = re.matcher(text)
  return m.find() ? (m.group() ?? '') : ''
}

function findAll(text: string, source: string, limit: bigint): CelValue {
  const re = pattern(source)
  if (re === undefined) return new CelError(`Illegal regex: ${source}`)
  const found: string[] = []
  const m = re.matcher(text)
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)
  for (let more = m.find(); more && found.length < most; more = m.find()) found.push(m.group() ?? '')
  return CelList.of(found)
}

const QUOTED: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

function quote(text: string): string {
  return `"${Array.from(text.toWellFormed(), (c) => QUOTED[c] ?? c).join('')}"`
}
