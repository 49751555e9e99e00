// Writes an object of cdk8s that consists of plain values, in one walk: the result is that of cdk8s, which resolves, sorts and copies every value separately.
// Anything else, such as a token or a patch, is left to cdk8s.
import { ApiObject, App, ApiObjectMetadataDefinition } from 'cdk8s'

/** What every App has. One of the user's own may replace any value. */
const BUILT_IN_RESOLVERS = 3

/** A value that only cdk8s can write, or refuse. */
const NOT_PLAIN = new Error('not plain')

type Fields = Readonly<Record<string, unknown>>

/** Undefined when cdk8s has to write it. */
export function plainJsonOf(object: ApiObject): Fields | undefined {
  const { props, patches } = object as unknown as { readonly props?: unknown; readonly patches?: unknown }
  const { metadata } = object
  if (!Array.isArray(patches) || patches.length > 0 || metadata.toJson !== ApiObjectMetadataDefinition.prototype.toJson)
    return undefined
  if (App.of(object).resolvers.length !== BUILT_IN_RESOLVERS) return undefined
  try {
    return writtenFields(props as Fields, writtenMetadata(metadata))
  } catch {
    // Not plain, or nested without end: cdk8s writes it, or says why it cannot.
    return undefined
  }
}

/** Whether this object has no way of its own to be written. */
export const isWrittenByCdk8s = (object: ApiObject): boolean => object.toJson === ApiObject.prototype.toJson

function writtenFields(props: Fields, metadata: unknown): Fields {
  const { apiVersion, kind, metadata: _, ...rest } = props
  const head: Record<string, unknown> = {}
  for (const [name, value] of Object.entries({ apiVersion, kind, metadata }))
    if (value !== undefined && value !== null) head[name] = name === 'metadata' ? value : plain(value, false)
  return Object.assign(head, plain(rest, false))
}

function writtenMetadata(metadata: ApiObjectMetadataDefinition): unknown {
  const { name, namespace, annotations, finalizers, ownerReferences, labels, _additionalAttributes } =
    metadata as unknown as Fields
  if (!isPlainObject(_additionalAttributes)) throw NOT_PLAIN
  const all = { ..._additionalAttributes, name, namespace, annotations, finalizers, ownerReferences, labels }
  return plain(all, true)
}

/** Undefined values, null and, in metadata, empty values are left out of objects. In a list they stay in their place, as cdk8s does it. */
function plain(value: unknown, dropsEmpty: boolean): unknown {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw NOT_PLAIN
  return Array.isArray(value) ? plainList(value, dropsEmpty) : plainFields(value, dropsEmpty)
}

function plainList(list: readonly unknown[], dropsEmpty: boolean): unknown {
  if (Object.getPrototypeOf(list) !== Array.prototype || Object.keys(list).length !== list.length) throw NOT_PLAIN
  if (dropsEmpty && list.length === 0) return undefined
  return list.map((item) => plain(item, dropsEmpty) ?? notPlain())
}

function plainFields(value: object, dropsEmpty: boolean): unknown {
  if (!isPlainObject(value)) throw NOT_PLAIN
  const written: Record<string, unknown> = {}
  let isEmpty = true
  for (const name of Object.keys(value).sort()) {
    if (name === '__proto__') throw NOT_PLAIN
    const field = plain(value[name], dropsEmpty)
    if (field === undefined) continue
    written[name] = field
    isEmpty = false
  }
  return isEmpty && dropsEmpty ? undefined : written
}

function notPlain(): never {
  throw NOT_PLAIN
}

/** cdk8s asks for the constructor, which a field of that name replaces. */
const isPlainObject = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !Object.hasOwn(value, 'constructor')
