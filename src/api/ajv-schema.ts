// Turns a structural schema into ajv's form: refuses unknown fields, enforces list keys, and keeps this project's descriptions of patterns. Only KubeNode's own
// schemas are compiled; posted ones are interpreted elsewhere.
import { Ajv, type SchemaObject } from 'ajv'
import { jsonEqual } from '#lib/json.ts'
import type { Schema } from './schema/schema.ts'
import { extrasOf, type ApiSchema } from './extras.ts'

const KEPT = [
  'type',
  'enum',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
] as const

export function ajvSchemaOf(schema: ApiSchema): SchemaObject {
  const out: SchemaObject = {}
  for (const key of KEPT) if (schema[key] !== undefined) out[key] = schema[key]
  if (schema['x-kubernetes-int-or-string'] === true) out['type'] = ['integer', 'string']
  if (schema.format === 'date-time') out['format'] = 'date-time'
  const { expects } = extrasOf(schema)
  if (expects !== undefined) out['expected'] = expects
  if (schema.properties !== undefined) {
    out['properties'] = Object.fromEntries(Object.entries(schema.properties).map(([k, v]) => [k, ajvSchemaOf(v)]))
    if (schema['x-kubernetes-preserve-unknown-fields'] !== true) out['additionalProperties'] = false
  }
  if (typeof schema.additionalProperties === 'object')
    out['additionalProperties'] = ajvSchemaOf(schema.additionalProperties)
  if (schema.items !== undefined) out['items'] = ajvSchemaOf(schema.items)
  // The server needs these for a time (see `time`); here its type is enough.
  if (schema.type === 'array')
    for (const key of ['minItems', 'maxItems'] as const) if (schema[key] !== undefined) out[key] = schema[key]
  Object.assign(out, uniqueness(schema))
  return out
}

function uniqueness(schema: Schema): SchemaObject {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return { uniqueItems: true }
  if (type !== 'map') return {}
  return { listMapKeys: { keys: schema['x-kubernetes-list-map-keys'] ?? [], defaults: itemDefaults(schema) } }
}

const itemDefaults = (schema: Schema): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema.items?.properties ?? {}).flatMap(([k, s]) =>
      s.default === undefined ? [] : [[k, s.default]],
    ),
  )

/** RFC 3339 in UTC or with an offset; the server accepts the same. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

export const isDateTime = (text: string): boolean => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text))

export interface ListMap {
  readonly keys: readonly string[]
  readonly defaults: Readonly<Record<string, unknown>>
}

/** The index of the first item with duplicate keys; -1 if all differ. */
export function duplicateIndex({ keys, defaults }: ListMap, items: readonly unknown[]): number {
  const seen: unknown[][] = []
  return items.findIndex((item) => {
    const key = keys.map((k) => (item as Record<string, unknown> | null)?.[k] ?? defaults[k])
    if (seen.some((s) => jsonEqual(s, key))) return true
    seen.push(key)
    return false
  })
}

export function createAjv({ allErrors = true }: { readonly allErrors?: boolean } = {}): Ajv {
  const ajv = new Ajv({
    allErrors,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    verbose: true,
    // Every program compiles a few kinds at startup. A test checks KubeNode's schemas against the meta schema, and code that runs a few times is not worth four
    // times the compile work.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  })
  ajv.addKeyword({ keyword: 'expected', schemaType: 'string' })
  ajv.addKeyword({
    keyword: 'listMapKeys',
    type: 'array',
    schemaType: 'object',
    errors: false,
    validate: (listMap: ListMap, items: readonly unknown[]) => duplicateIndex(listMap, items) === -1,
  })
  ajv.addFormat('date-time', isDateTime)
  return ajv
}
