// Where a configuration would be merged into a list, a map or a struct that is only ever replaced whole.
import { isObject } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { fieldSchema, isAtomicMap, isNamedField, listKeys } from './typing.ts'

/** Paths such as `.spec.taints`, in the order of the configuration; both the whole and its parts are named. */
export function atomicFields(schema: Schema | undefined, applied: unknown, path = ''): readonly string[] {
  if (Array.isArray(applied)) {
    const inside = applied.flatMap((item, i) => atomicFields(schema?.items, item, `${path}[${i}]`))
    return listKeys(schema) === undefined ? [path, ...inside] : inside
  }
  if (!isObject(applied)) return []
  const inside = Object.entries(applied).flatMap(([name, value]) =>
    isNamedField(schema, name) ? atomicFields(fieldSchema(schema, name), value, `${path}.${name}`) : [],
  )
  return isAtomicMap(schema) ? [path, ...inside] : inside
}
