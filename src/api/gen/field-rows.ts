// The rows of a field table: every field of a schema with its type, default and bounds.
import type { Schema } from '../schema/schema.ts'
import { extrasOf, type ApiSchema } from '../extras.ts'

export interface FieldRow {
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly fallback: string
  readonly bounds: string
  readonly doc: string
}

export function fieldRows(schema: ApiSchema, path: string): readonly FieldRow[] {
  const required = new Set(schema.required ?? [])
  return Object.entries(schema.properties ?? {}).flatMap(([name, below]) => {
    const place = `${path}.${name}`
    return [row(below, place, required.has(name)), ...nested(below, place)]
  })
}

function nested(schema: ApiSchema, path: string): readonly FieldRow[] {
  if (schema.items !== undefined)
    return schema.items.properties === undefined ? [] : fieldRows(schema.items, `${path}[]`)
  if (typeof schema.additionalProperties === 'object')
    return schema.additionalProperties.properties === undefined
      ? []
      : fieldRows(schema.additionalProperties, `${path}.*`)
  return fieldRows(schema, path)
}

const row = (schema: ApiSchema, path: string, required: boolean): FieldRow => ({
  path,
  type: typeText(schema),
  required,
  fallback: schema.default === undefined ? '' : JSON.stringify(schema.default),
  bounds: bounds(schema),
  doc: schema.description ?? '',
})

function typeText(schema: ApiSchema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'count or percentage'
  if (schema.enum !== undefined) return schema.enum.map(String).join(', ')
  if (schema.items !== undefined) {
    const { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys = [] } = schema
    const word = type === 'map' ? `list by ${keys.join(' and ')}` : type === 'set' ? 'set' : 'list'
    return `${word} of ${typeText(schema.items)}`
  }
  if (typeof schema.additionalProperties === 'object') return `map of ${typeText(schema.additionalProperties)}`
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return 'free form'
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'anything')
}

function bounds(schema: ApiSchema): string {
  const { expects, maxBytes, immutable } = extrasOf(schema)
  const parts = [
    between(schema, 'minimum', 'maximum', ''),
    schema['x-kubernetes-int-or-string'] === true ? '' : between(schema, 'minLength', 'maxLength', ' characters'),
    schema.type === 'array' ? between(schema, 'minItems', 'maxItems', ' items') : '',
    between(schema, 'minProperties', 'maxProperties', ' keys'),
    maxBytes === undefined ? '' : `≤ ${maxBytes} bytes of JSON`,
    expects ?? '',
    immutable === undefined ? '' : 'never changes',
  ]
  return parts.filter((p) => p !== '').join('; ')
}

type Numeric =
  | 'minimum'
  | 'maximum'
  | 'minLength'
  | 'maxLength'
  | 'minItems'
  | 'maxItems'
  | 'minProperties'
  | 'maxProperties'

function between(schema: Schema, low: Numeric, high: Numeric, unit: string): string {
  const [min, max] = [schema[low], schema[high]]
  if (max === undefined) return ''
  const largest = max === Number.MAX_SAFE_INTEGER ? '2^53-1' : String(max)
  return min === undefined || (min === 0 && unit !== '') ? `≤ ${largest}${unit}` : `${min} to ${largest}${unit}`
}
