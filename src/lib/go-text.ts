// Writes JSON values the way Go's fmt and encoding/json do, because messages of the Kubernetes API carry such text.
import { isObject } from './json.ts'

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Floats outside 1e-4 … 1e21 take an exponent of at least two digits. */
function goNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return String(value)
  const magnitude = Math.abs(value)
  const text = magnitude < 1e-4 ? value.toExponential() : String(value)
  return text.replace(/e([+-])(\d)$/, 'e$10$2')
}

/** `%v`: strings bare, maps as `map[k:v]` with sorted keys, lists as `[a b]`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return goNumber(value)
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isObject(value)) return String(value)
  const keys = Object.keys(value).toSorted(byCodeUnit)
  return `map[${keys.map((k) => `${k}:${goText(value[k])}`).join(' ')}]`
}

/** `%#v`: the value as a Go literal. */
export function goLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)'
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goLiteral).join(', ')}}`
  if (!isObject(value)) return goText(value)
  const keys = Object.keys(value).toSorted(byCodeUnit)
  return `map[string]interface {}{${keys.map((k) => `${JSON.stringify(k)}:${goLiteral(value[k])}`).join(', ')}}`
}

/** `%T`: the type that Go's JSON decoder gives a value. */
export function goType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  if (typeof value === 'bigint') return 'int64'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** What Go's JSON decoder calls a value that it cannot take. */
export function goJsonKind(value: unknown): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'number'
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

const HTML = /[<>&\u2028\u2029]/
const HTML_ALL = /[<>&\u2028\u2029]/g
const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** A JSON string with the characters escaped that Go escapes for HTML. */
export function goQuote(text: string): string {
  const quoted = JSON.stringify(text)
  return HTML.test(quoted) ? quoted.replace(HTML_ALL, (c) => ESCAPES[c] ?? c) : quoted
}

/** encoding/json: keys sorted, no white space, HTML characters escaped, big integers whole. */
export function goJson(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`
  if (!isObject(value)) return String(value)
  const keys = Object.keys(value)
    .filter((k) => value[k] !== undefined)
    .toSorted(byCodeUnit)
  return `{${keys.map((k) => `${goQuote(k)}:${goJson(value[k])}`).join(',')}}`
}
