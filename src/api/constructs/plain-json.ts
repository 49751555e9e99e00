// Writes a cdk8s object of plain values in one walk, with the same result as cdk8s, which resolves, sorts and copies every value separately. Leaves anything
// else, such as a token or a patch, to cdk8s.
import { ApiObject, App, ApiObjectMetadataDefinition } from 'cdk8s'

/** The resolvers of every App. A user's own may replace any value. */
const BUILT_IN_RESOLVERS = 3

/** Marks a value that only cdk8s can write, or refuse. */
const NOT_PLAIN = Symbol('not plain')

/** Kubernetes objects are a tenth as deep; an object that contains itself has no end. */
const MAX_DEPTH = 200

type Fields = Readonly<Record<string, unknown>>

/** Undefined if cdk8s has to write it. */
export function plainJsonOf(object: ApiObject): Fields | undefined {
  const { props, patches } = object as unknown as { readonly props?: unknown; readonly patches?: unknown }
  const { metadata } = object
  if (!Array.isArray(patches) || patches.length > 0 || metadata.toJson !== ApiObjectMetadataDefinition.prototype.toJson)
    return undefined
  if (App.of(object).resolvers.length !== BUILT_IN_RESOLVERS) return undefined
  const written = writtenFields(props as Fields, metadata)
  return written === NOT_PLAIN ? undefined : written
}

/** Whether this object does not override how it is written. */
export const isWrittenByCdk8s = (object: ApiObject): boolean => object.toJson === ApiObject.prototype.toJson

function writtenFields(props: Fields, metadata: ApiObjectMetadataDefinition): Fields | typeof NOT_PLAIN {
  const { apiVersion, kind, metadata: _, ...rest } = props
  const head: Record<string, unknown> = {}
  for (const [name, value] of Object.entries({ apiVersion, kind, metadata: writtenMetadata(metadata) })) {
    if (value === undefined || value === null) continue
    const field = name === 'metadata' ? value : plainValue(value, false, 0)
    if (field === NOT_PLAIN) return NOT_PLAIN
    head[name] = field
  }
  const fields = plainFields(rest, false, 0)
  return fields === NOT_PLAIN ? NOT_PLAIN : Object.assign(head, fields)
}

function writtenMetadata(metadata: ApiObjectMetadataDefinition): unknown {
  const { name, namespace, annotations, finalizers, ownerReferences, labels, _additionalAttributes } =
    metadata as unknown as Fields
  if (!isPlainObject(_additionalAttributes)) return NOT_PLAIN
  const all = { ..._additionalAttributes, name, namespace, annotations, finalizers, ownerReferences, labels }
  return plainValue(all, true, 0)
}

/** In objects, drops undefined, null and, in metadata, empty values. In lists they keep their place, as in cdk8s. */
function plainValue(value: unknown, dropsEmpty: boolean, depth: number): unknown {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || depth > MAX_DEPTH) return NOT_PLAIN
  return Array.isArray(value) ? plainList(value, dropsEmpty, depth + 1) : plainFields(value, dropsEmpty, depth + 1)
}

function plainList(list: readonly unknown[], dropsEmpty: boolean, depth: number): unknown {
  if (Object.getPrototypeOf(list) !== Array.prototype || Object.keys(list).length !== list.length) return NOT_PLAIN
  if (dropsEmpty && list.length === 0) return undefined
  const written: unknown[] = []
  for (const item of list) {
    const value = plainValue(item, dropsEmpty, depth)
    if (value === undefined || value === NOT_PLAIN) return NOT_PLAIN
    written.push(value)
  }
  return written
}

function plainFields(value: object, dropsEmpty: boolean, depth: number): Fields | typeof NOT_PLAIN | undefined {
  if (!isPlainObject(value)) return NOT_PLAIN
  const written: Record<string, unknown> = {}
  let isEmpty = true
  for (const name of Object.keys(value).sort()) {
    if (name === '__proto__') return NOT_PLAIN
    const field = plainValue(value[name], dropsEmpty, depth)
    if (field === undefined) continue
    if (field === NOT_PLAIN) return NOT_PLAIN
    written[name] = field
    isEmpty = false
  }
  return isEmpty && dropsEmpty ? undefined : written
}

/** cdk8s checks the constructor, which a field of that name overrides. */
const isPlainObject = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !Object.hasOwn(value, 'constructor')
