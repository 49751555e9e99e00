// Fills in a schema's defaults: for missing fields, and for nulls where none are allowed. Never changes the input; unchanged parts are shared.
import { isObject } from '#lib/json.ts'
import { additionalOf, hasDefault, itemsOf, mapFields, mapItems, propertyOf, putField } from './prune.ts'
import type { Schema } from './schema.ts'

/** Defaults inside a default apply too; a field below a missing field stays missing. */
export function applyDefaults(schema: Schema, value: unknown): unknown {
  if (!hasDefaultBelow(schema)) return value
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    return items ? mapItems(value, (item) => defaulted(items, item)) : value
  }
  if (!isObject(value)) return value
  const filled = mapFields(value, (v, name) => {
    const sub = propertyOf(schema, name) ?? additionalOf(schema)
    return sub ? defaulted(sub, v) : v
  })
  return withAbsent(schema, filled)
}

const known = new WeakMap<Schema, boolean>()

/** Most parts of most schemas have none at any depth and can be skipped. */
function hasDefaultBelow(schema: Schema): boolean {
  let found = known.get(schema)
  if (found === undefined) {
    const names = isObject(schema.properties) ? Object.keys(schema.properties) : []
    const parts = [...names.map((name) => propertyOf(schema, name)), additionalOf(schema), itemsOf(schema)]
    found = parts.some((part) => part !== undefined && (hasDefault(part) || hasDefaultBelow(part)))
    known.set(schema, found)
  }
  return found
}

function defaulted(schema: Schema, value: unknown): unknown {
  if (value === null && schema.nullable !== true) return hasDefault(schema) ? freshDefault(schema) : value
  return applyDefaults(schema, value)
}

/** A copy, so that changing an object never changes its schema. */
const freshDefault = (schema: Schema): unknown =>
  applyDefaults(schema, typeof schema.default === 'object' ? structuredClone(schema.default) : schema.default)

type Named = readonly (readonly [string, Schema])[]
const knownDefaults = new WeakMap<Schema, Named>()

/** Few properties have one: found once per schema. */
function withDefault(schema: Schema): Named {
  let found = knownDefaults.get(schema)
  if (found === undefined) {
    const names = isObject(schema.properties) ? Object.keys(schema.properties) : []
    found = names.flatMap((name) => {
      const property = propertyOf(schema, name)
      return property !== undefined && hasDefault(property) ? [[name, property] as const] : []
    })
    knownDefaults.set(schema, found)
  }
  return found
}

function withAbsent(schema: Schema, value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  let out: Record<string, unknown> | undefined
  for (const [name, property] of withDefault(schema)) {
    if (Object.hasOwn(value, name) && value[name] !== undefined) continue
    if (out === undefined) {
      out = {}
      for (const n of Object.keys(value)) putField(out, n, value[n])
    }
    putField(out, name, freshDefault(property))
  }
  return out ?? value
}
