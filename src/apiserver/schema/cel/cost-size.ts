// How large values of a schema can get, and how small as JSON: what the estimate of costs multiplies with.
import type { Schema } from '#api/schema/schema.ts'
import { escapeName } from './escape.ts'
import { placeOf, type SchemaPlace } from './schema-type.ts'

/** What is known of a value by its schema. */
export interface Sized {
  /** Elements, entries or characters at most; none for what has no parts. */
  readonly max: number
  /** Bytes of JSON at least. */
  readonly minBytes: number
  readonly fields: ReadonlyMap<string, Sized>
  readonly elem: Sized | undefined
  readonly key: Sized | undefined
}

/** What a request may carry, and so the largest anything in it. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024

const NONE: ReadonlyMap<string, Sized> = new Map()

const leaf = (max: number, minBytes: number): Sized => ({
  max,
  minBytes,
  fields: NONE,
  elem: undefined,
  key: undefined,
})

const KEY = leaf(0, 2)

/** Undefined when rules cannot see values of the schema. */
export function sizedOf(schema: Schema, place: SchemaPlace): Sized | undefined {
  const { maxLength } = schema
  if (schema['x-kubernetes-int-or-string'] === true)
    return leaf(maxLength === undefined ? MAX_REQUEST_BYTES - 2 : characters(maxLength), 1)
  switch (schema.type) {
    case 'string':
      return sizedString(schema)
    case 'boolean':
      return leaf(0, 4)
    case 'integer':
    case 'number':
      return leaf(0, 1)
    case 'array':
      return sizedArray(schema)
    case 'object':
      return sizedObject(schema, place)
    case undefined:
      return undefined
    default:
      return undefined
  }
}

/** A character may be four bytes. */
const characters = (maxLength: number): number => Math.max(0, maxLength) * 4

/** Bytes that times and durations take at most and at least. */
const TIMES: Readonly<Record<string, Sized>> = {
  duration: leaf(32, 3),
  date: leaf(12, 12),
  'date-time': leaf(32, 21),
}

function sizedString({ format = '', maxLength, enum: values = [] }: Schema): Sized {
  const time = Object.hasOwn(TIMES, format) ? TIMES[format] : undefined
  if (time !== undefined) return time
  if (maxLength !== undefined) return leaf(format === 'byte' ? Math.max(0, maxLength) : characters(maxLength), 2)
  const longest = Math.max(0, ...values.map((v) => (typeof v === 'string' ? Buffer.byteLength(v) : 0)))
  return leaf(values.length > 0 && format !== 'byte' ? longest : MAX_REQUEST_BYTES - 2, 2)
}

function sizedArray({ items, maxItems }: Schema): Sized | undefined {
  const elem = items === undefined ? undefined : sizedOf(items, placeOf(items))
  if (elem === undefined) return undefined
  const max = maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (elem.minBytes + 1))
  return { max: Math.max(0, max), minBytes: 2, fields: NONE, elem, key: undefined }
}

const ANY_STRING: Schema = { type: 'string' }
const RESOURCE: Readonly<Record<string, Schema>> = {
  apiVersion: ANY_STRING,
  kind: ANY_STRING,
  metadata: { type: 'object', properties: { name: ANY_STRING, generateName: ANY_STRING } },
}

function sizedObject(schema: Schema, place: SchemaPlace): Sized | undefined {
  const { additionalProperties: additional, maxProperties, required = [] } = schema
  if (typeof additional === 'object') {
    const elem = sizedOf(additional, placeOf(additional))
    if (elem === undefined) return undefined
    const max = maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (elem.minBytes + 6))
    return { max: Math.max(0, max), minBytes: 2, fields: NONE, elem, key: KEY }
  }
  const fields = new Map<string, Sized>()
  let minBytes = 2
  const properties = { ...schema.properties, ...(place === 'resource' ? RESOURCE : {}) }
  for (const [name, property] of Object.entries(properties)) {
    const sized = sizedOf(property, placeOf(property))
    if (sized === undefined) continue
    const escaped = escapeName(name)
    if (escaped !== undefined) fields.set(escaped, sized)
    if (required.includes(name) && property.default === undefined)
      minBytes += Buffer.byteLength(name) + sized.minBytes + 4
  }
  return { max: 0, minBytes, fields, elem: undefined, key: undefined }
}
