// Removes fields from a value. A map or list that loses all its content becomes null, as the real server leaves it for decoding to drop.
import { isObject, setOwn } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { EMPTY_SET, type FieldSet, childrenOf, isEmptySet, isMember, nodeOf } from './field-set.ts'
import { fieldSchema, isAtomicMap, isNamedField, itemElement, listKeys } from './typing.ts'

/** A member is removed with all its children. Returns the value itself when nothing is removed. */
export function removeFields(schema: Schema | undefined, value: unknown, fields: FieldSet): unknown {
  if (isEmptySet(fields)) return value
  if (isObject(value)) return isAtomicMap(schema) ? null : removeFromMap(schema, value, fields)
  if (!Array.isArray(value)) return value
  const keys = listKeys(schema)
  return keys === undefined ? null : removeFromList(schema, keys, value, fields)
}

function removeFromMap(schema: Schema | undefined, map: Record<string, unknown>, fields: FieldSet): unknown {
  let changed = false
  let left = 0
  const out = {}
  for (const name of Object.keys(map)) {
    const node = fields[`f:${name}`]
    const before = map[name]
    if (node !== undefined && isMember(node)) {
      changed = true
      continue
    }
    const after = node === undefined ? before : removeFields(fieldSchema(schema, name), before, node)
    if (after !== before) changed = true
    left++
    setOwn(out, name, after)
  }
  if (!changed) return map
  return left === 0 ? null : out
}

function removeFromList(
  schema: Schema | undefined,
  keys: readonly string[],
  list: readonly unknown[],
  fields: FieldSet,
): unknown {
  const out: unknown[] = []
  let changed = false
  for (const item of list) {
    const named = itemElement(schema, keys, item)
    const node = 'element' in named ? fields[named.element] : undefined
    if (node !== undefined && isMember(node)) {
      changed = true
      continue
    }
    const after = node === undefined ? item : removeFields(schema?.items, item, node)
    if (after !== item) changed = true
    out.push(after)
  }
  if (!changed) return list
  return out.length === 0 ? null : out
}

/** The set with every named field that has children as a member too, so that a struct is removed when all its fields are. */
export function withNamedFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  const out: { [element: string]: FieldSet } = {}
  for (const element in set) {
    const node = set[element] ?? EMPTY_SET
    if (element === '.') continue
    const children = childrenOf(node)
    const isField = element.startsWith('f:')
    const name = element.slice(2)
    const below = isField ? fieldSchema(schema, name) : schema?.items
    const named = isField && !isEmptySet(children) && isNamedField(schema, name)
    out[element] = nodeOf(named || isMember(node), withNamedFields(below, children)) ?? EMPTY_SET
  }
  return out
}
