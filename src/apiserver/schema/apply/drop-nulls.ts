// Nulls that nothing can hold: of fields whose schema does not allow null. Decoding drops them on the real server.
import { isObject, setOwn } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { fieldSchema } from './typing.ts'

/** A null without schema stays, as does a null item of a list. */
export function withoutNulls(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutNulls(schema.items, item))
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (!isObject(value)) return value
  let changed = false
  const out = {}
  for (const name of Object.keys(value)) {
    const field = fieldSchema(schema, name)
    const isDropped = value[name] === null && field !== undefined && field.nullable !== true
    const after = isDropped ? undefined : withoutNulls(field, value[name])
    if (isDropped || after !== value[name]) changed = true
    if (!isDropped) setOwn(out, name, after)
  }
  return changed ? out : value
}
