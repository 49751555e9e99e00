// Who owns which fields after a write: other owners lose changed fields, and removed fields have no owner.
import type { Schema } from '#api/schema/schema.ts'
import { problemsText, typeProblems } from './check.ts'
import { type Changes, NO_CHANGES, compareObjects, withoutFields } from './compare.ts'
import { type Conflict, conflictsOf } from './conflict.ts'
import { EMPTY_SET, type FieldSet, LEAF, difference, hasChildren, intersection, isEmptySet } from './field-set.ts'
import { type Managed, type OwnedFields, ownerId, withOwned } from './managed-fields.ts'
import { fieldSchema, isAtomicMap, listKeys, objectSchema } from './typing.ts'

type JsonMap = Readonly<Record<string, unknown>>

/** What reads and writes of one request have in common. */
export interface Versioning {
  /** The version of the request. */
  readonly apiVersion: string
  /** Its schema. */
  readonly schema: Schema | undefined
  /** Schemas of all served versions; owners in a version that is not here are forgotten. Absent: one schema fits all. */
  readonly versions?: ReadonlyMap<string, Schema | undefined> | undefined
  /** Fields that this endpoint does not write: status for the main one, spec for the status subresource. */
  readonly resetFields?: FieldSet | undefined
}

/** An object that does not fit the version in which one of its managers owns fields. */
export class VersionMismatch extends Error {}

export const isServed = ({ apiVersion, versions }: Versioning, version: string): boolean =>
  version === apiVersion || versions === undefined || versions.has(version)

export const schemaOfVersion = ({ apiVersion, schema, versions }: Versioning, version: string): Schema | undefined =>
  objectSchema(version === apiVersion || versions === undefined ? schema : versions.get(version))

/** Forgets owners in versions no longer served, and turns fields of what the schema now holds whole into one. */
export function reconciled(context: Versioning, live: JsonMap, managed: Managed): Map<string, OwnedFields> {
  const out = new Map<string, OwnedFields>()
  for (const [id, owned] of managed) {
    if (!isServed(context, owned.apiVersion)) continue
    const schema = schemaOfVersion(context, owned.apiVersion)
    if (owned.apiVersion !== context.apiVersion && context.versions !== undefined) {
      const problems = typeProblems(schema, live, { allowDuplicates: true })
      if (problems.length > 0) throw new VersionMismatch(problemsText(problems))
    }
    const fields = wholeFields(schema, owned.fields)
    out.set(id, fields === owned.fields ? owned : { ...owned, fields })
  }
  return out
}

/** Children below an atomic field become the field itself. */
function wholeFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  if (schema === undefined) return set
  let out: { [element: string]: FieldSet } | undefined
  for (const element in set) {
    const node = set[element] as FieldSet
    if (element === '.' || !hasChildren(node)) continue
    const below = element.startsWith('f:') ? fieldSchema(schema, element.slice(2)) : schema.items
    const isWhole =
      below !== undefined && (isAtomicMap(below) || (below.type === 'array' && listKeys(below) === undefined))
    const whole = isWhole ? LEAF : wholeFields(below, node)
    if (whole === node) continue
    out ??= { ...set }
    out[element] = whole
  }
  return out ?? set
}

export interface Takeover {
  readonly managed: Map<string, OwnedFields>
  readonly conflicts: readonly Conflict[]
}

/** What a write changes, seen in any version; compared once for each that is asked for. */
export function changesByVersion(context: Versioning, live: JsonMap, next: JsonMap): (version: string) => Changes {
  const byVersion = new Map<string, Changes>()
  return (version) => {
    let changes = byVersion.get(version)
    if (changes === undefined) {
      changes = live === next ? NO_CHANGES : compareObjects(schemaOfVersion(context, version), live, next)
      changes = withoutFields(changes, context.resetFields)
      byVersion.set(version, changes)
    }
    return changes
  }
}

/** `self` loses nothing. */
export function takeOver(managed: Managed, self: string, changesIn: (version: string) => Changes): Takeover {
  const after = new Map<string, OwnedFields>()
  const conflicts: Conflict[] = []
  for (const [id, owned] of [...managed].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (id === self) {
      after.set(id, owned)
      continue
    }
    const { changed, removed } = changesIn(owned.apiVersion)
    const lost = isEmptySet(changed) ? EMPTY_SET : intersection(owned.fields, changed)
    if (!isEmptySet(lost)) conflicts.push(...conflictsOf(owned, lost))
    const fields = difference(difference(owned.fields, lost), removed)
    withOwned(after, fields === owned.fields ? owned : { ...owned, fields })
    if (isEmptySet(fields)) after.delete(ownerId(owned))
  }
  return { managed: after, conflicts }
}
