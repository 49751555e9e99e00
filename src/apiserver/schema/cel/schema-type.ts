// The CEL type of a structural schema: what `self` may be asked for. What the schema does not describe does not exist for a rule.
import type { Schema } from '#api/schema/schema.ts'
import { escapeName } from './escape.ts'
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, DYN, INT, type ListKind, listOf, mapOf } from './types.ts'
import { type ObjectField, objectOf, STRING, TIMESTAMP } from './types.ts'

/** `resource`: the root of an object or an embedded one, where apiVersion, kind and the names in metadata are always there. */
export type SchemaPlace = 'resource' | 'value'

/** Undefined when rules cannot see values of this schema. */
export function celTypeOf(schema: Schema, place: SchemaPlace = 'value', name = 'self'): CelType | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return DYN
  switch (schema.type) {
    case 'object':
      return objectType(schema, place, name)
    case 'array':
      return arrayType(schema, name)
    case 'string':
      return stringType(schema.format)
    case 'boolean':
      return BOOL
    case 'integer':
      return INT
    case 'number':
      return DOUBLE
    case undefined:
      return undefined
    default:
      return undefined
  }
}

const STRING_FORMATS: Readonly<Record<string, CelType>> = {
  byte: BYTES,
  duration: DURATION,
  date: TIMESTAMP,
  'date-time': TIMESTAMP,
}

const stringType = (format = ''): CelType =>
  (Object.hasOwn(STRING_FORMATS, format) ? STRING_FORMATS[format] : undefined) ?? STRING

/** An embedded resource is one wherever it stands. */
export const placeOf = (schema: Schema): SchemaPlace =>
  schema['x-kubernetes-embedded-resource'] === true ? 'resource' : 'value'

function arrayType(schema: Schema, name: string): CelType | undefined {
  const { items } = schema
  const elem = items === undefined ? undefined : celTypeOf(items, placeOf(items), `${name}.@idx`)
  return elem === undefined ? undefined : listOf(elem, listKindOf(schema))
}

function listKindOf(schema: Schema): ListKind | undefined {
  const type = schema['x-kubernetes-list-type']
  if (type === 'map') return { mapKeys: schema['x-kubernetes-list-map-keys'] ?? [] }
  return type === 'set' ? 'set' : undefined
}

const OBJECT_META: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
}

/** What every resource has, also when its schema is silent; of metadata no more than the names can be seen. */
const RESOURCE_PROPERTIES: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: OBJECT_META,
}

function objectType(schema: Schema, place: SchemaPlace, name: string): CelType | undefined {
  const { additionalProperties: additional } = schema
  if (typeof additional === 'object') {
    const value = celTypeOf(additional, placeOf(additional), `${name}.@elem`)
    return value === undefined ? undefined : mapOf(STRING, value)
  }
  const fields = new Map<string, ObjectField>()
  const declared = Object.entries(schema.properties ?? {})
  for (const [key, property] of place === 'resource'
    ? [...declared, ...Object.entries(RESOURCE_PROPERTIES)]
    : declared) {
    const escaped = escapeName(key)
    const type = celTypeOf(property, placeOf(property), `${name}.${key}`)
    if (escaped !== undefined && type !== undefined) fields.set(escaped, { name: key, type })
  }
  return objectOf(name, fields)
}
