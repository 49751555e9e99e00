// Formats JSON values like Go's fmt, as Kubernetes API messages do. encoding/json is in go-format.ts.
import { goFloat } from './go-format.ts'
import { isObject } from './json.ts'

export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Kubernetes' JSON decoder turns a whole number into an int64. */
const goNumber = (value: number): string => (Number.isSafeInteger(value) ? String(value) : goFloat(value))

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

/** The name Go's JSON decoder uses for a value it cannot accept. */
export function goJsonKind(value: unknown): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'number'
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}
