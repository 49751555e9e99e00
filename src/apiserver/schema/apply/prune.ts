// Removes the fields that an applier no longer applies and that have no other owner.
import { isObject, setOwn } from '#lib/json.ts'
import {
  EMPTY_SET,
  type FieldSet,
  difference,
  fieldSetOfPaths,
  includes,
  intersection,
  isEmptySet,
  union,
} from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import type { Managed, OwnedFields } from './managed-fields.ts'
import { type Versioning, isServed, schemaOfVersion } from './ownership.ts'
import { removeFields, withNamedFields } from './remove.ts'

type JsonMap = Readonly<Record<string, unknown>>

/** No object loses its identity, whatever its managers owned of its metadata. */
const IDENTITY = fieldSetOfPaths([['f:apiVersion'], ['f:kind'], ['f:metadata', 'f:name']])

interface PruneRequest {
  /** Live object and applied configuration, merged. */
  readonly merged: JsonMap
  /** All owners, the applier with what it applies now. */
  readonly managed: Managed
  /** What the applier applied last. */
  readonly last: OwnedFields | undefined
  /** What it applies now. */
  readonly applied: FieldSet
}

/** Top-level fields are independent, so only those that lost an owner are checked. */
export function prune(context: Versioning, { merged, managed, last, applied }: PruneRequest): JsonMap {
  if (last === undefined || includes(applied, last.fields) || !isServed(context, last.apiVersion)) return merged
  const names = Object.keys(difference(last.fields, applied)).map((element) => element.slice(2))
  const part = fieldsOf(merged, names)
  const left = removeUnowned(context, part, { ...last, fields: elementsOf(last.fields, names) }, managed)
  if (left === part) return merged
  const out = {}
  for (const name of Object.keys(merged)) {
    if (!names.includes(name)) setOwn(out, name, merged[name])
    else if (isObject(left) && Object.hasOwn(left, name)) setOwn(out, name, left[name])
  }
  return out
}

function fieldsOf(object: JsonMap, names: readonly string[]): JsonMap {
  const out = {}
  for (const name of names) if (Object.hasOwn(object, name)) setOwn(out, name, object[name])
  return out
}

function elementsOf(set: FieldSet, names: readonly string[]): FieldSet {
  const out: { [element: string]: FieldSet } = {}
  for (const name of names) {
    const node = set[`f:${name}`]
    if (node !== undefined) out[`f:${name}`] = node
  }
  return out
}

/**
 * First everything applied last time is removed; then owned fields are restored with their parents; of the rest only
 * fields applied last time are really removed, since fields below them may have no owner (defaults).
 */
function removeUnowned(context: Versioning, merged: JsonMap, last: OwnedFields, managed: Managed): unknown {
  const schema = schemaOfVersion(context, last.apiVersion)
  const lastFields = withNamedFields(schema, last.fields)
  const there = withNamedFields(schema, fieldSetOf(schema, merged))
  let pruned = removeFields(schema, merged, lastFields)
  for (const [version, owned] of ownedByVersion(managed, last.apiVersion)) {
    if (!isServed(context, version)) continue
    const view = schemaOfVersion(context, version)
    const all = version === last.apiVersion ? there : withNamedFields(view, fieldSetOf(view, merged))
    const kept = union(withNamedFields(view, fieldSetOf(view, pruned ?? {})), withNamedFields(view, owned))
    pruned = removeFields(view, merged, difference(all, kept))
  }
  const missing = difference(there, withNamedFields(schema, fieldSetOf(schema, pruned ?? {})))
  const gone = intersection(missing, lastFields)
  return isEmptySet(gone) ? merged : removeFields(schema, merged, gone)
}

/** The version of the pruned set comes first. */
function ownedByVersion(managed: Managed, first: string): ReadonlyMap<string, FieldSet> {
  const owned = new Map<string, FieldSet>([[first, EMPTY_SET]])
  for (const { apiVersion, fields } of managed.values())
    owned.set(apiVersion, union(owned.get(apiVersion) ?? EMPTY_SET, fields))
  for (const [version, fields] of owned) owned.set(version, union(fields, IDENTITY))
  return owned
}
