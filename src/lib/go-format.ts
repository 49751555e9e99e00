// Go's formats of values (%q, %v of a float, encoding/json), which a kube-apiserver's messages use.
import { MAX_JSON_DEPTH, isObject } from './json.ts'

/** CEL's strings.quote writes the same. */
export const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["\\]/gu

/** `%q`: double quotes, printable Unicode unchanged, everything else escaped. */
export const goQuote = (text: string): string => `"${text.toWellFormed().replace(UNPRINTABLE, escapeRune)}"`

function escapeRune(rune: string): string {
  const short = SHORT_ESCAPES[rune]
  if (short !== undefined) return short
  const code = rune.codePointAt(0) ?? 0
  if (code < 0x80) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

export const hex = (n: number, width: number): string => n.toString(16).padStart(width, '0')

/** Powers of ten that Go still writes without an exponent. */
const SMALLEST_PLAIN = -4
const LARGEST_PLAIN = 5

/** `%v` of a float64: the shortest digits that identify it, with an exponent below 1e-04 and from 1e+06 on. */
export function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const exp = Number(exponent)
  if (exp >= SMALLEST_PLAIN && exp <= LARGEST_PLAIN) return plainDecimal(digits, exp)
  const size = String(Math.abs(exp)).padStart(2, '0')
  return `${digits}e${exp < 0 ? '-' : '+'}${size}`
}

function plainDecimal(digits: string, exp: number): string {
  const sign = digits.startsWith('-') ? '-' : ''
  const figures = digits.replace('-', '').replace('.', '')
  if (exp < 0) return `${sign}0.${'0'.repeat(-exp - 1)}${figures}`
  const whole = figures.slice(0, exp + 1).padEnd(exp + 1, '0')
  const rest = figures.slice(exp + 1)
  return rest === '' ? sign + whole : `${sign}${whole}.${rest}`
}

const HTML_UNSAFE = /[<>&\u2028\u2029]/g

/** A string in encoding/json: `<`, `>`, `&` and line separators are escaped. */
export const goJsonString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(HTML_UNSAFE, (c) => `\\u${hex(c.charCodeAt(0), 4)}`)

/** Maximum printed depth: enough for a message, with bounded recursion. */
const DEEPEST_PRINTED = MAX_JSON_DEPTH

/** encoding/json: keys sorted as in a Go map, or in given order as in a Go struct. */
export function goJson(value: unknown, keys: 'sorted' | 'as-given' = 'sorted', depth = 0): string {
  if (typeof value === 'string') return goJsonString(value)
  if (typeof value === 'bigint') return value.toString()
  if (depth >= DEEPEST_PRINTED && typeof value === 'object' && value !== null) return '"..."'
  if (Array.isArray(value)) return `[${value.map((v) => goJson(v, keys, depth + 1)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value).filter((k) => value[k] !== undefined)
  if (keys === 'sorted') names.sort((a, b) => (a < b ? -1 : 1))
  return `{${names.map((k) => `${goJsonString(k)}:${goJson(value[k], keys, depth + 1)}`).join(',')}}`
}
