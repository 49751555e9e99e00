// What goes from an object because its applier no longer applies it and nobody else owns it.
import { type FieldSet, difference, fieldSetOfPaths, includes, intersection, union } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import type { Managed, OwnedFields } from './managed-fields.ts'
import { type Versioning, isServed, schemaOfVersion } from './ownership.ts'
import { removeFields, withNamedFields } from './remove.ts'

/** No object loses its identity, whoever owned what in its metadata. */
const IDENTITY = fieldSetOfPaths([['f:apiVersion'], ['f:kind'], ['f:metadata', 'f:name']])

interface PruneRequest {
  /** Live object and applied configuration, merged. */
  readonly merged: unknown
  /** All owners, the applier with what it applies now. */
  readonly managed: Managed
  /** What the applier applied last. */
  readonly last: OwnedFields | undefined
  /** What it applies now. */
  readonly applied: FieldSet
}

export function prune(context: Versioning, { merged, managed, last, applied }: PruneRequest): unknown {
  if (last === undefined || includes(applied, last.fields) || !isServed(context, last.apiVersion)) return merged
  const schema = schemaOfVersion(context, last.apiVersion)
  const mergedFields = withNamedFields(schema, fieldSetOf(schema, merged))
  const lastFields = withNamedFields(schema, last.fields)
  let pruned = removeFields(schema, merged, lastFields)
  for (const [version, owned] of ownedByVersion(managed, last.apiVersion)) {
    if (!isServed(context, version)) continue
    const versionSchema = schemaOfVersion(context, version)
    const there = withNamedFields(versionSchema, fieldSetOf(versionSchema, merged))
    const left = withNamedFields(versionSchema, fieldSetOf(versionSchema, pruned ?? {}))
    const kept = union(left, withNamedFields(versionSchema, owned))
    pruned = removeFields(versionSchema, merged, difference(there, kept))
  }
  const gone = difference(mergedFields, withNamedFields(schema, fieldSetOf(schema, pruned ?? {})))
  return removeFields(schema, merged, intersection(gone, lastFields))
}

/** The version of the pruned set comes first. */
function ownedByVersion(managed: Managed, first: string): ReadonlyMap<string, FieldSet> {
  const owned = new Map<string, FieldSet>([[first, IDENTITY]])
  for (const { apiVersion, fields } of managed.values())
    owned.set(apiVersion, union(owned.get(apiVersion) ?? IDENTITY, fields))
  return owned
}
