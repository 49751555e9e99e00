// Server-side apply: merges a configuration into an object, owns what it names, removes what it names no longer, and refuses to take from others unless forced.
import { isObject, jsonEqual, setOwn } from '#lib/json.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import { problemsText, typeProblems } from './check.ts'
import type { Conflict } from './conflict.ts'
import { type FieldSet, hasPath, recursiveDifference, sameSet } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import { KUBECTL, lastAppliedFields, withLastApplied } from './last-applied.ts'
import {
  type Managed,
  type OwnedFields,
  ownerId,
  readManagedFields,
  sameButTimes,
  withOwned,
  writeManagedFields,
} from './managed-fields.ts'
import { mergeValues } from './merge.ts'
import {
  VersionMismatch,
  type Versioning,
  changesByVersion,
  reconciled,
  schemaOfVersion,
  takeOver,
} from './ownership.ts'
import { prune } from './prune.ts'
import { updatedOwners } from './track-update.ts'
import { trackedOnly } from './untracked.ts'
import type { Schema } from '#api/schema/schema.ts'
import { fieldSchema } from './typing.ts'

type JsonMap = Readonly<Record<string, unknown>>

export interface ApplyRequest extends Versioning {
  /** Undefined when the apply creates the object. */
  readonly live: JsonMap | undefined
  readonly applied: JsonMap
  readonly manager: string
  readonly force: boolean
  readonly subresource?: string | undefined
  /** RFC 3339, whole seconds. */
  readonly time: string
  /** The kind of the endpoint; when given, another one in the configuration is refused. */
  readonly kind?: string | undefined
  /** The zero object of the kind: fields that every object has and that therefore have no owner. */
  readonly zero?: JsonMap | undefined
}

export type ApplyResult =
  | { readonly kind: 'Applied'; readonly object: KubeObject; readonly changed: boolean }
  | { readonly kind: 'Conflict'; readonly conflicts: readonly Conflict[] }
  | { readonly kind: 'Invalid'; readonly httpCode: 400 | 500; readonly message: string }

export function applyServerSide(request: ApplyRequest): ApplyResult {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return refusal
  const applied = withoutNullCreation(request.applied)
  try {
    const result = applyOnce(request, applied, request.force)
    if (request.manager !== KUBECTL) return result
    if (result.kind !== 'Conflict') return followed(request, applied, result)
    return followed(request, applied, upgraded(request, applied, result.conflicts))
  } catch (e) {
    if (e instanceof VersionMismatch) return { kind: 'Invalid', httpCode: 500, message: e.message }
    if (e instanceof SyntaxError)
      return { kind: 'Invalid', httpCode: 500, message: `failed to decode managed fields: ${e.message}` }
    throw e
  }
}

const metaOf = (object: JsonMap | undefined): JsonMap => {
  const metadata = object?.['metadata']
  return isObject(metadata) ? metadata : {}
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** `v1, Kind=X` of the core group has an empty group before the slash. */
function kindText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`
}

function refusalOf(request: ApplyRequest): ApplyResult | undefined {
  const { applied, apiVersion, kind } = request
  const seenVersion = textOf(applied['apiVersion'])
  const seenKind = textOf(applied['kind'])
  if (seenVersion !== apiVersion || (kind !== undefined && seenKind !== kind))
    return { kind: 'Invalid', httpCode: 400, message: `invalid object type: ${kindText(seenVersion, seenKind)}` }
  const meta = metaOf(applied)
  if (meta['managedFields'] !== undefined && meta['managedFields'] !== null)
    return { kind: 'Invalid', httpCode: 400, message: 'metadata.managedFields must be nil' }
  const problems = typeProblems(schemaOfVersion(request, apiVersion), applied)
  if (problems.length === 0) return undefined
  const object = `${textOf(meta['namespace'])}/${textOf(meta['name'])}; ${kindText(seenVersion, seenKind)}`
  const message = `failed to create typed patch object (${object}): ${problemsText(problems)}`
  return { kind: 'Invalid', httpCode: 500, message }
}

/** Clients in Go write a null for the time that they do not know. */
function withoutNullCreation(applied: JsonMap): JsonMap {
  const meta = metaOf(applied)
  if (meta['creationTimestamp'] !== null) return applied
  const { creationTimestamp: _, ...metadata } = meta
  return { ...applied, metadata }
}

function applyOnce(request: ApplyRequest, applied: JsonMap, force: boolean): ApplyResult {
  const { apiVersion, manager, subresource = '', time } = request
  const schema = schemaOfVersion(request, apiVersion)
  const live = request.live ?? request.zero ?? {}
  const before = ownersBefore(request, live)
  const self = { manager, operation: 'Apply', apiVersion, subresource } as const
  const last = before.get(ownerId(self))
  const named = withoutReset(fieldSetOf(schema, applied), request.resetFields)
  const owners = new Map(before).set(ownerId(self), ownedBySelf(self, last, named))
  const merged = mergeValues(schema, live, applied) as JsonMap
  const next = prune(request, { merged, managed: owners, last, applied: named })
  const { managed, conflicts } = takeOver(owners, ownerId(self), changesByVersion(request, live, next))
  if (conflicts.length > 0 && !force) return { kind: 'Conflict', conflicts }
  const owned = ownedBySelf(self, last, trackedOnly(named))
  withOwned(managed, next === live ? owned : { ...owned, time })
  const object = next === live ? live : withoutNulls(schema, next)
  return finished(request, object as JsonMap, writeManagedFields(managed))
}

const withoutReset = (set: FieldSet, reset: FieldSet | undefined): FieldSet =>
  reset === undefined ? set : recursiveDifference(set, reset)

/** Merging nulls makes another object, dropping them may make the old one again. */
const sameObject = (live: JsonMap, object: JsonMap): boolean => object === live || jsonEqual(object, live)

type Self = Pick<OwnedFields, 'manager' | 'operation' | 'apiVersion' | 'subresource'>

/** The stored entry is kept while nothing in it changes. */
function ownedBySelf(self: Self, last: OwnedFields | undefined, fields: FieldSet): OwnedFields {
  if (last === undefined) return { ...self, time: undefined, fields }
  const isSame = last.apiVersion === self.apiVersion && sameSet(last.fields, fields)
  return isSame ? last : { ...self, time: last.time, fields }
}

/** Untracked fields of an object get an owner of their own at the first apply. */
function ownersBefore(request: ApplyRequest, live: JsonMap): Managed {
  const stored = readManagedFields(metaOf(live)['managedFields'], 'storage')
  if (stored.size > 0 || request.live === undefined) return reconciled(request, live, stored)
  const first = { ...request, live: request.zero, next: live, manager: 'before-first-apply' }
  return updatedOwners(first, stored)
}

function finished(
  { live }: ApplyRequest,
  object: JsonMap,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): ApplyResult {
  const { managedFields: _, ...metadata } = metaOf(object)
  if (live !== undefined && sameObject(live, object) && sameButTimes(metaOf(live)['managedFields'], managedFields))
    return { kind: 'Applied', object: live as unknown as KubeObject, changed: false }
  const written = { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
  return { kind: 'Applied', object: written as unknown as KubeObject, changed: true }
}

/** kubectl may take what its own client-side apply set. */
function upgraded(request: ApplyRequest, applied: JsonMap, conflicts: readonly Conflict[]): ApplyResult {
  const live = request.live ?? {}
  const schema = schemaOfVersion(request, request.apiVersion)
  const allowed = lastAppliedFields(schema, live, request.apiVersion)
  if (allowed === undefined) return { kind: 'Conflict', conflicts }
  const others = conflicts.filter((c) => !hasPath(allowed, c.path))
  return others.length > 0 ? { kind: 'Conflict', conflicts: others } : applyOnce(request, applied, true)
}

function followed(request: ApplyRequest, applied: JsonMap, result: ApplyResult): ApplyResult {
  if (result.kind !== 'Applied') return result
  const object = withLastApplied(result.object, applied)
  return object === result.object ? result : { ...result, object, changed: !jsonEqual(object, request.live) }
}

/** A null without schema stays, as does a null item of a list. */
function withoutNulls(schema: Schema | undefined, value: unknown): unknown {
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
