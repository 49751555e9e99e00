// What a write changes, as sets of fields: values added or modified, and values removed. Parts that both objects share are skipped.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { EMPTY_SET, type FieldSet, insertPath, isEmptySet, recursiveDifference } from './field-set.ts'
import { type Shape, fieldSchema, isAtomicMap, itemElement, listKeys, shapeOf } from './typing.ts'
import { UNTRACKED_META, UNTRACKED_TOP } from './untracked.ts'

export interface Changes {
  /** Added or modified. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

type JsonMap = Readonly<Record<string, unknown>>

interface Walk {
  readonly changed: FieldSet
  readonly removed: FieldSet
  readonly path: string[]
}

/** Changes from one object to another, without fields that never have an owner. */
export function compareObjects(schema: Schema | undefined, before: JsonMap, after: JsonMap): Changes {
  const walk: Walk = { changed: {}, removed: {}, path: [] }
  const metaSchema = fieldSchema(schema, 'metadata')
  eachDifferent(before, after, (name, l, r) => {
    if (UNTRACKED_TOP.has(name)) return
    if (name !== 'metadata') return compareField(walk, schema, name, l, r)
    walk.path.push('f:metadata')
    eachDifferent(mapOf(l) ?? {}, mapOf(r) ?? {}, (field, lm, rm) => {
      if (!UNTRACKED_META.has(field)) compareField(walk, metaSchema, field, lm, rm)
    })
    walk.path.pop()
  })
  return walk
}

/** Changes from one value to another of the same schema. */
export function compareValues(schema: Schema | undefined, before: unknown, after: unknown): Changes {
  const walk: Walk = { changed: {}, removed: {}, path: [] }
  compare(walk, schema, before, after)
  return walk
}

export function withoutFields(changes: Changes, fields: FieldSet | undefined): Changes {
  if (fields === undefined || isEmptySet(fields)) return changes
  return {
    changed: recursiveDifference(changes.changed, fields),
    removed: recursiveDifference(changes.removed, fields),
  }
}

export const NO_CHANGES: Changes = { changed: EMPTY_SET, removed: EMPTY_SET }

const mapOf = (value: unknown): JsonMap | undefined => (isObject(value) ? value : undefined)

function eachDifferent(l: JsonMap, r: JsonMap, visit: (name: string, l: unknown, r: unknown) => void): void {
  for (const name of Object.keys(r)) {
    const before = Object.hasOwn(l, name) ? l[name] : undefined
    if (before !== r[name]) visit(name, before, r[name])
  }
  for (const name of Object.keys(l)) {
    if (l[name] !== undefined && (!Object.hasOwn(r, name) || r[name] === undefined)) visit(name, l[name], undefined)
  }
}

function compareField(walk: Walk, schema: Schema | undefined, name: string, l: unknown, r: unknown): void {
  if (l === undefined && r === undefined) return
  walk.path.push(`f:${name}`)
  compare(walk, fieldSchema(schema, name), l, r)
  walk.path.pop()
}

/** At least one of both is defined. A value whose shape changed counts as both: its old fields removed, the new ones added. */
function compare(walk: Walk, schema: Schema | undefined, l: unknown, r: unknown): void {
  if (l === r) return
  const left = l === undefined ? undefined : shapeOf(schema, l)
  const right = r === undefined ? left : shapeOf(schema, r)
  compareAs(walk, schema, left ?? right ?? 'scalar', l, r)
  if (left !== undefined && right !== undefined && left !== right) compareAs(walk, schema, right, l, r)
}

function compareAs(walk: Walk, schema: Schema | undefined, shape: Shape, l: unknown, r: unknown): void {
  const keys = shape === 'list' ? listKeys(schema) : undefined
  const isWhole = shape === 'scalar' || (shape === 'map' ? isAtomicMap(schema) : keys === undefined)
  if (isWhole || (isVoid(l, shape) && isVoid(r, shape))) return compareWhole(walk, l, r)
  if (shape === 'map')
    eachDifferent(mapOf(l) ?? {}, mapOf(r) ?? {}, (name, lv, rv) => compareField(walk, schema, name, lv, rv))
  else compareLists(walk, schema, keys ?? [], listOf(l), listOf(r))
  if (l === undefined) insertPath(walk.changed, walk.path)
  else if (r === undefined) insertPath(walk.removed, walk.path)
}

function compareWhole(walk: Walk, l: unknown, r: unknown): void {
  if (l === undefined) insertPath(walk.changed, walk.path)
  else if (r === undefined) insertPath(walk.removed, walk.path)
  else if (!jsonEqual(l, r)) insertPath(walk.changed, walk.path)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Holds nothing that could be compared by key. */
function isVoid(value: unknown, shape: Shape): boolean {
  if (shape === 'list') return listOf(value).length === 0
  for (const _ in mapOf(value)) return false
  return true
}

function compareLists(
  walk: Walk,
  schema: Schema | undefined,
  keys: readonly string[],
  l: readonly unknown[],
  r: readonly unknown[],
): void {
  if (l.length === r.length && l.every((item, i) => item === r[i])) return
  const before = byElement(schema, keys, l)
  const after = byElement(schema, keys, r)
  for (const element of new Set([...before.keys(), ...after.keys()])) {
    walk.path.push(element)
    compareItems(walk, schema?.items, before.get(element) ?? [], after.get(element) ?? [])
    walk.path.pop()
  }
}

function byElement(
  schema: Schema | undefined,
  keys: readonly string[],
  list: readonly unknown[],
): Map<string, unknown[]> {
  const items = new Map<string, unknown[]>()
  for (const item of list) {
    const named = itemElement(schema, keys, item)
    if (!('element' in named)) continue
    const same = items.get(named.element)
    if (same === undefined) items.set(named.element, [item])
    else same.push(item)
  }
  return items
}

/** Items that share a key are compared as one value. */
function compareItems(walk: Walk, schema: Schema | undefined, l: readonly unknown[], r: readonly unknown[]): void {
  if (l.length <= 1 && r.length <= 1) return compare(walk, schema, l[0], r[0])
  if (l.length > 1 && r.length > 1) {
    if (!jsonEqual(l, r)) insertPath(walk.changed, walk.path)
    return
  }
  if (l.length > 1) {
    if (r.length === 1) compare(walk, schema, undefined, r[0])
    insertPath(walk.removed, walk.path)
    return
  }
  if (l.length === 1) compare(walk, schema, l[0], undefined)
  insertPath(walk.changed, walk.path)
}
