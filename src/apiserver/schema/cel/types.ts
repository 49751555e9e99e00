// The types of CEL: what the checker infers, how they print in messages, and when one is assignable to another.

export interface ObjectField {
  /** The key in the data; the key in the map of fields is its escaped form. */
  readonly name: string
  readonly type: CelType
}

/** A list from a schema says how two of them compare: by order, as sets, or by the keys of their elements. */
export type ListKind = 'atomic' | 'set' | { readonly mapKeys: readonly string[] }

type PrimitiveKind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'duration'
  | 'timestamp'

export type CelType =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: 'list'; readonly elem: CelType; readonly listKind?: ListKind }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'object'; readonly name: string; readonly fields: ReadonlyMap<string, ObjectField> }
  | { readonly kind: 'type'; readonly of: CelType | undefined }
  /** A type of a library (`kubernetes.Quantity`, `optional_type`). */
  | { readonly kind: 'opaque'; readonly name: string; readonly params: readonly CelType[] }
  /** A type parameter that unification may bind. */
  | { readonly kind: 'var'; readonly name: string }

export type ObjectType = CelType & { readonly kind: 'object' }

const primitive = (kind: PrimitiveKind): CelType => ({ kind })

export const DYN = primitive('dyn')
export const ERROR = primitive('error')
export const NULL = primitive('null')
export const BOOL = primitive('bool')
export const INT = primitive('int')
export const UINT = primitive('uint')
export const DOUBLE = primitive('double')
export const STRING = primitive('string')
export const BYTES = primitive('bytes')
export const DURATION = primitive('duration')
export const TIMESTAMP = primitive('timestamp')

export const listOf = (elem: CelType, listKind?: ListKind): CelType =>
  listKind === undefined ? { kind: 'list', elem } : { kind: 'list', elem, listKind }
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value })
export const typeOf = (of: CelType | undefined): CelType => ({ kind: 'type', of })
export const opaque = (name: string, ...params: readonly CelType[]): CelType => ({ kind: 'opaque', name, params })
export const objectOf = (name: string, fields: ReadonlyMap<string, ObjectField>): ObjectType => ({
  kind: 'object',
  name,
  fields,
})

const OPTIONAL_NAME = 'optional_type'
export const optionalOf = (type: CelType): CelType => opaque(OPTIONAL_NAME, type)

/** What is inside an optional, or undefined when the type is none. */
export const optionalParam = (type: CelType): CelType | undefined =>
  type.kind === 'opaque' && type.name === OPTIONAL_NAME ? type.params[0] : undefined

export const isDyn = (t: CelType): boolean => t.kind === 'dyn' || t.kind === 'error'

const WELL_KNOWN: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
  null: 'null_type',
}

/** The name that `type(x)` has at run time. */
export const typeName = (t: CelType): string =>
  t.kind === 'object' || t.kind === 'opaque' || t.kind === 'var' ? t.name : (WELL_KNOWN[t.kind] ?? t.kind)

/** As the compiler of the real server prints it: `list(int)`, `map(string, dyn)`. */
export function formatType(t: CelType): string {
  if (t.kind === 'list') return `list(${formatType(t.elem)})`
  if (t.kind === 'map') return `map(${formatType(t.key)}, ${formatType(t.value)})`
  if (t.kind === 'type') return t.of === undefined ? 'type' : `type(${formatType(t.of)})`
  if (t.kind === 'opaque') return t.params.length === 0 ? t.name : `${t.name}(${t.params.map(formatType).join(', ')})`
  if (t.kind === 'object' || t.kind === 'var') return t.name
  return t.kind === 'error' ? '!error!' : t.kind
}
