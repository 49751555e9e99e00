// Metadata inside a value as the API server reads it: into typed fields, so unknown and empty ones go and wrong types are refused.
import { isObject } from '#lib/json.ts'
import { OBJECT_META } from './apply/object-meta.ts'
import { childPath, invalid, keyPath, type FieldError } from './field-error.ts'
import { additionalOf, dropNulls, dropUnknown, itemsOf, mapFields, mapItems, propertyOf } from '#api/schema/prune.ts'
import type { Schema } from '#api/schema/schema.ts'

export interface Coerced {
  readonly value: unknown
  /** Sorted, as in `unknown field "spec.template.metadata.foo"`. */
  readonly unknownFields: readonly string[]
  /** What cannot be read at all; the value is then as it came. */
  readonly problems: readonly FieldError[]
}

/** Managed fields have a parser of their own, and are not typed here. */
const META_SCHEMA: Schema = {
  ...OBJECT_META,
  properties: {
    ...OBJECT_META.properties,
    managedFields: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
}

/** The metadata of the objects inside of a value; that of the value itself is left to the code that stores it. */
export function coerceEmbedded(schema: Schema, value: unknown): Coerced {
  const unknownFields: string[] = []
  const problems: FieldError[] = []
  const coerced = coerceValue(schema, value, '', { unknownFields, problems })
  return { value: problems.length > 0 ? value : coerced, unknownFields: unknownFields.toSorted(), problems }
}

/** One `metadata`, at its path. */
export function coerceMetadata(metadata: unknown, path: string): Coerced {
  const mismatch = isObject(metadata) ? typeMismatch(META_SCHEMA, metadata, '') : undefined
  if (mismatch !== undefined || !isObject(metadata)) {
    const detail = mismatch ?? `json: cannot unmarshal ${jsonKind(metadata)} into Go value of type v1.ObjectMeta`
    return { value: metadata, unknownFields: [], problems: [invalid(path, metadata, detail)] }
  }
  const known = dropUnknown(META_SCHEMA, metadata)
  const value = mapFields(recordOf(dropNulls(META_SCHEMA, known.value)), (v) => (isEmpty(v) ? undefined : v))
  return { value, unknownFields: known.unknownFields.map((field) => `${path}.${field}`), problems: [] }
}

const recordOf = (v: unknown): Readonly<Record<string, unknown>> => (isObject(v) ? v : {})

/** Go leaves empty fields out when it writes metadata. */
const isEmpty = (v: unknown): boolean =>
  v === '' || v === 0 || (typeof v === 'object' && v !== null && Object.keys(v).length === 0)

interface Findings {
  readonly unknownFields: string[]
  readonly problems: FieldError[]
}

function coerceValue(schema: Schema, value: unknown, path: string, found: Findings): unknown {
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    return items ? mapItems(value, (item, i) => coerceValue(items, item, keyPath(path, i), found)) : value
  }
  if (!isObject(value)) return value
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  return mapFields(value, (v, name) => {
    const field = childPath(path, name)
    if (embedded && (name === 'apiVersion' || name === 'kind') && typeof v !== 'string')
      found.problems.push(invalid(field, v, 'must be a string'))
    if (embedded && name === 'metadata') {
      const meta = coerceMetadata(v, field)
      found.unknownFields.push(...meta.unknownFields)
      found.problems.push(...meta.problems)
      return meta.value
    }
    const property = propertyOf(schema, name)
    if (property) return coerceValue(property, v, field, found)
    const additional = additionalOf(schema)
    return additional ? coerceValue(additional, v, keyPath(path, name), found) : v
  })
}

/** Go's names of the types in metadata. */
const GO_TYPES: Readonly<Record<string, string>> = { string: 'string', integer: 'int64', boolean: 'bool' }

/** The first value that Go could not read, in its words. */
function typeMismatch(schema: Schema, value: unknown, field: string): string | undefined {
  if (value === null || schema.type === undefined) return undefined
  if (schema.type === 'array' || schema.type === 'object') return containerMismatch(schema, value, field)
  const kind = jsonKind(value)
  const fits = schema.type === 'integer' ? isInteger(value) : kind === (schema.type === 'boolean' ? 'bool' : 'string')
  return fits ? undefined : unreadable(kind, field, GO_TYPES[schema.type] ?? schema.type)
}

function containerMismatch(schema: Schema, value: unknown, field: string): string | undefined {
  if (schema.type === 'array') {
    const items = itemsOf(schema)
    if (!Array.isArray(value)) return unreadable(jsonKind(value), field, '[]')
    return items && value.map((item) => typeMismatch(items, item, field)).find((found) => found !== undefined)
  }
  if (!isObject(value)) return unreadable(jsonKind(value), field, additionalOf(schema) ? 'map[string]string' : 'object')
  return Object.keys(value)
    .toSorted()
    .map((name) => {
      const property = propertyOf(schema, name)
      const sub = property ?? additionalOf(schema)
      const subField = property && field !== '' ? `${field}.${name}` : property ? name : field
      return sub && typeMismatch(sub, value[name], subField)
    })
    .find((found) => found !== undefined)
}

const isInteger = (v: unknown): boolean => typeof v === 'bigint' || Number.isSafeInteger(v)

const unreadable = (kind: string, field: string, type: string): string =>
  `json: cannot unmarshal ${kind} into Go struct field ObjectMeta.${field} of type ${type}`

function jsonKind(v: unknown): string {
  if (v === null) return 'null'
  if (Array.isArray(v)) return 'array'
  if (typeof v === 'bigint') return 'number'
  return typeof v === 'boolean' ? 'bool' : typeof v
}
