// Short words for schemas of built-in kinds: each says the JSON type and how the Go field of that kind encodes its empty value.
import type { Json } from '#lib/json.ts'
import type { BuiltinSchema } from './kind.ts'

export const str: BuiltinSchema = { type: 'string' }
export const bool: BuiltinSchema = { type: 'boolean' }
export const int32: BuiltinSchema = { type: 'integer', format: 'int32' }
export const int64: BuiltinSchema = { type: 'integer', format: 'int64' }
/** Base64 of bytes. */
export const bytes: BuiltinSchema = { type: 'string', format: 'byte' }
/** metav1.Time: whole seconds in UTC. */
export const time: BuiltinSchema = { type: 'string', format: 'date-time', 'x-go-field': 'pointer' }
/** metav1.MicroTime: microseconds in UTC. */
export const microTime: BuiltinSchema = { type: 'string', format: 'micro-time', 'x-go-field': 'pointer' }
export const intOrString: BuiltinSchema = { 'x-kubernetes-int-or-string': true, 'x-go-field': 'pointer' }
/** resource.Quantity: a number or a text such as 500m, kept in canonical form. */
export const quantity: BuiltinSchema = { type: 'string', format: 'quantity' }
/** Any JSON, kept as it is. */
export const anything: BuiltinSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export type Fields = { readonly [name: string]: BuiltinSchema }

/** A struct; by default an embedded one without omitempty stays out when empty: wrap in `always` where it does not. */
export const struct = (goName: string, properties: Fields, more: Partial<BuiltinSchema> = {}): BuiltinSchema => ({
  type: 'object',
  properties,
  'x-go-struct': goName,
  ...more,
})
/** Of an object with what is wanted and what was observed, both always written. */
export const specAndStatus = (spec: BuiltinSchema, status: BuiltinSchema): BuiltinSchema => ({
  type: 'object',
  properties: { spec: always(spec), status: always(status) },
})
/** Of an object without a status. */
export const specOnly = (spec: BuiltinSchema): BuiltinSchema => ({ type: 'object', properties: { spec: always(spec) } })
export const listOf = (items: BuiltinSchema, more: Partial<BuiltinSchema> = {}): BuiltinSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'atomic',
  ...more,
})
/** A list that is a map by keys for apply, and merges by the first key in strategic merge patch. */
export const mapList = (
  keys: readonly string[],
  items: BuiltinSchema,
  more: Partial<BuiltinSchema> = {},
): BuiltinSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-strategy': 'merge',
  ...(keys[0] === undefined ? {} : { 'x-kubernetes-patch-merge-key': keys[0] }),
  ...more,
})
export const setOf = (items: BuiltinSchema, more: Partial<BuiltinSchema> = {}): BuiltinSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'set',
  'x-kubernetes-patch-strategy': 'merge',
  ...more,
})
export const mapOf = (values: BuiltinSchema, more: Partial<BuiltinSchema> = {}): BuiltinSchema => ({
  type: 'object',
  additionalProperties: values,
  ...more,
})

export const pointer = (s: BuiltinSchema): BuiltinSchema => ({ ...s, 'x-go-field': 'pointer' })
export const always = (s: BuiltinSchema): BuiltinSchema => ({ ...s, 'x-go-field': 'always' })
/** metav1.Time in a struct by value: written as null while it is not set. */
export const nullTime: BuiltinSchema = always({ type: 'string', format: 'date-time' })
export const withDefault = (s: BuiltinSchema, value: Json): BuiltinSchema => ({ ...s, default: value })

export const labelSelector: BuiltinSchema = struct(
  'LabelSelector',
  {
    matchLabels: mapOf(str),
    matchExpressions: listOf(
      struct('LabelSelectorRequirement', { key: always(str), operator: always(str), values: listOf(str) }),
    ),
  },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

/** corev1.ObjectReference; its marks differ from field to field. */
export const objectReference = (more: Partial<BuiltinSchema> = {}): BuiltinSchema =>
  struct(
    'ObjectReference',
    {
      kind: str,
      namespace: str,
      name: str,
      uid: str,
      apiVersion: str,
      resourceVersion: str,
      fieldPath: str,
    },
    more,
  )

/** metav1.Condition. */
export const condition: BuiltinSchema = struct('Condition', {
  type: always(str),
  status: always(str),
  observedGeneration: int64,
  lastTransitionTime: always(time),
  reason: always(str),
  message: always(str),
})
export const conditions: BuiltinSchema = mapList(['type'], condition)
