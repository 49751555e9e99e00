// A posted OpenAPI schema as the Go struct JSONSchemaProps keeps it: unknown keywords are removed and reported, empty ones dropped.
import { goJsonKind } from '#lib/go-text.ts'
import { isObject } from '#lib/json.ts'
import { DecodeError } from '../codec/typed.ts'
import type { Fields } from './definition.ts'

type Keep =
  /** Kept whatever it is, null excepted. */
  | 'value'
  /** Dropped when empty: "", false, [], {}. */
  | 'filled'
  | 'schema'
  | 'schemaOrList'
  | 'schemas'
  | 'schemaMap'
  | 'rules'

const KEYWORDS: Readonly<Record<string, Keep | undefined>> = {
  id: 'filled',
  $schema: 'filled',
  $ref: 'value',
  description: 'filled',
  type: 'filled',
  format: 'filled',
  title: 'filled',
  default: 'value',
  maximum: 'value',
  exclusiveMaximum: 'filled',
  minimum: 'value',
  exclusiveMinimum: 'filled',
  maxLength: 'value',
  minLength: 'value',
  pattern: 'filled',
  maxItems: 'value',
  minItems: 'value',
  uniqueItems: 'filled',
  multipleOf: 'value',
  enum: 'filled',
  maxProperties: 'value',
  minProperties: 'value',
  required: 'filled',
  items: 'schemaOrList',
  allOf: 'schemas',
  oneOf: 'schemas',
  anyOf: 'schemas',
  not: 'schema',
  properties: 'schemaMap',
  additionalProperties: 'schema',
  patternProperties: 'schemaMap',
  dependencies: 'filled',
  additionalItems: 'schema',
  definitions: 'schemaMap',
  externalDocs: 'filled',
  example: 'value',
  nullable: 'filled',
  'x-kubernetes-preserve-unknown-fields': 'value',
  'x-kubernetes-embedded-resource': 'filled',
  'x-kubernetes-int-or-string': 'filled',
  'x-kubernetes-list-map-keys': 'filled',
  'x-kubernetes-list-type': 'value',
  'x-kubernetes-map-type': 'value',
  'x-kubernetes-validations': 'rules',
}

export function normalizeSchema(schema: unknown, path: string, unknown: string[]): unknown {
  // a null is an empty schema in Go; any other non-object cannot be read
  if (schema === null) return {}
  if (!isObject(schema))
    throw new DecodeError(
      `json: cannot unmarshal ${goJsonKind(schema)} into Go struct field JSONSchemaProps.${path} of type v1.JSONSchemaProps`,
    )
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    const keep = Object.hasOwn(KEYWORDS, key) ? KEYWORDS[key] : undefined
    const at = `${path}.${key}`
    if (keep === undefined) unknown.push(at)
    else if (value !== null && value !== undefined) {
      const kept = keptValue(keep, value, at, unknown)
      if (keep === 'value' || keep === 'schema' || keep === 'schemaOrList' || !isEmpty(kept)) out[key] = kept
    }
  }
  return out
}

function keptValue(keep: Keep, value: unknown, path: string, unknown: string[]): unknown {
  const all = (list: readonly unknown[]) => list.map((s, i) => normalizeSchema(s, `${path}[${i}]`, unknown))
  switch (keep) {
    case 'schema':
      // additionalProperties may be a boolean instead of a schema
      return typeof value === 'boolean' ? value : normalizeSchema(value, path, unknown)
    case 'schemaOrList':
      return Array.isArray(value) ? all(value) : normalizeSchema(value, path, unknown)
    case 'schemas':
      return Array.isArray(value) ? all(value) : value
    case 'schemaMap':
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([k, s]) => [k, normalizeSchema(s, `${path}.${k}`, unknown)]))
        : value
    case 'rules':
      return Array.isArray(value) ? value.map((r) => (isObject(r) ? withoutEmptyWords(r) : r)) : value
    case 'value':
    case 'filled':
      return value
    default:
      return value
  }
}

const withoutEmptyWords = (rule: Fields): Fields =>
  Object.fromEntries(Object.entries(rule).filter(([k, v]) => v !== null && (k === 'rule' || v !== '')))

const isEmpty = (v: unknown): boolean =>
  v === '' || v === false || (Array.isArray(v) && v.length === 0) || (isObject(v) && Object.keys(v).length === 0)
