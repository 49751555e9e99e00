// Which fields a value mentions: every leaf, every item of associative lists, every key of free maps.
import type { Schema } from '#api/schema/schema.ts'
import { type FieldSet, LEAF, insertPath } from './field-set.ts'
import { fieldSchema, isAtomicMap, isNamedField, itemElement, listKeys, shapeOf } from './typing.ts'

type Building = { [element: string]: FieldSet }

/** The set of an object or of any value; the root itself is never a member. */
export function fieldSetOf(schema: Schema | undefined, value: unknown): FieldSet {
  const out: Building = {}
  collect(schema, value, out)
  return out
}

/** Adds the fields below a value; true when the value itself is a member. */
function collect(schema: Schema | undefined, value: unknown, out: Building): boolean {
  const shape = shapeOf(schema, value)
  if (shape === 'scalar') return true
  if (shape === 'map') {
    if (isAtomicMap(schema)) return true
    if (value !== null) collectMap(schema, value as Record<string, unknown>, out)
    return false
  }
  const keys = listKeys(schema)
  if (keys === undefined) return true
  if (value !== null) collectList(schema, keys, value as readonly unknown[], out)
  return false
}

function collectMap(schema: Schema | undefined, map: Record<string, unknown>, out: Building): void {
  for (const name of Object.keys(map)) {
    const value = map[name]
    if (value === undefined) continue
    const below: Building = {}
    const isLeaf = collect(fieldSchema(schema, name), value, below)
    put(out, `f:${name}`, below, isLeaf || isHollow(value) || !isNamedField(schema, name))
  }
}

/** Null and the empty map have no leaf to represent them. */
function isHollow(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || Array.isArray(value)) return false
  for (const _ in value) return false
  return true
}

/** Items that share a key, which live objects may have, are owned together. */
function collectList(
  schema: Schema | undefined,
  keys: readonly string[],
  list: readonly unknown[],
  out: Building,
): void {
  const repeated = new Set<string>()
  const elements = list.map((item) => itemElement(schema, keys, item))
  const seen = new Set<string>()
  for (const named of elements) {
    if (!('element' in named)) continue
    if (seen.has(named.element)) repeated.add(named.element)
    seen.add(named.element)
  }
  for (const [i, named] of elements.entries()) {
    if (!('element' in named)) continue
    const below: Building = {}
    if (!repeated.has(named.element)) collect(schema?.items, list[i], below)
    put(out, named.element, below, true)
  }
}

function put(out: Building, element: string, below: Building, member: boolean): void {
  let empty = true
  for (const _ in below) {
    empty = false
    break
  }
  if (empty) {
    if (member) out[element] = LEAF
    return
  }
  out[element] = below
  if (member) insertPath(out, [element])
}
