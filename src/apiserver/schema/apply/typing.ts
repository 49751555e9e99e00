// How a schema says that values merge: as a scalar, as a map by key, as a list by item or whole. Without a schema maps merge and lists are whole.
import { isObject } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { OBJECT_META } from './object-meta.ts'
import { keyElement, valueElement } from './path-element.ts'

export type Shape = 'scalar' | 'list' | 'map'

const SHAPES: Readonly<Record<string, Shape>> = { object: 'map', array: 'list' }

/** Null takes the shape that the schema gives it. */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (value === null) return schema?.type === undefined ? 'map' : (SHAPES[schema.type] ?? 'scalar')
  return Array.isArray(value) ? 'list' : typeof value === 'object' ? 'map' : 'scalar'
}

export const isAtomicMap = (schema: Schema | undefined): boolean => schema?.['x-kubernetes-map-type'] === 'atomic'

const NO_KEYS: readonly string[] = []

/** Undefined: the list is one value. Empty: a set of scalars. Otherwise the names of the keys of its items, sorted. */
export function listKeys(schema: Schema | undefined): readonly string[] | undefined {
  if (schema === undefined) return undefined
  const type = schema['x-kubernetes-list-type']
  if (type !== undefined) {
    if (type === 'map') return sorted(schema['x-kubernetes-list-map-keys'] ?? NO_KEYS)
    return type === 'set' ? NO_KEYS : undefined
  }
  const strategy = schema['x-kubernetes-patch-strategy']
  if (strategy === undefined || !strategy.includes('merge')) return undefined
  const key = schema['x-kubernetes-patch-merge-key']
  return key === undefined ? NO_KEYS : [key]
}

const sorted = (keys: readonly string[]): readonly string[] => (keys.length < 2 ? keys : keys.toSorted())

/** The schema of a field; undefined when the type is to be deduced. */
export function fieldSchema(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema === undefined) return undefined
  const { properties, additionalProperties } = schema
  if (properties !== undefined && Object.hasOwn(properties, name)) return whole(properties[name])
  return typeof additionalProperties === 'object' ? whole(additionalProperties) : undefined
}

const whole = (schema: Schema | undefined): Schema | undefined =>
  schema?.['x-kubernetes-embedded-resource'] === true ? objectSchema(schema) : schema

/** A named field, as opposed to a key of a free map. */
export const isNamedField = (schema: Schema | undefined, name: string): boolean =>
  schema?.properties !== undefined && Object.hasOwn(schema.properties, name)

/** The element that names an item of an associative list, or what is wrong with the item. */
export function itemElement(
  schema: Schema | undefined,
  keys: readonly string[],
  item: unknown,
): { readonly element: string } | { readonly problem: string } {
  if (keys.length === 0) return setElement(item)
  if (item === null) return { problem: 'associative list with keys may not have a null element' }
  if (!isObject(item)) return { problem: 'associative list with keys may not have non-map elements' }
  const element = keyElement(withKeyDefaults(schema, keys, item), keys)
  if (element !== undefined) return { element }
  const names = keys.map((k) => JSON.stringify(k)).join(' ')
  return {
    problem: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  }
}

function setElement(item: unknown): { readonly element: string } | { readonly problem: string } {
  if (item === null) return { problem: "associative list without keys has an element that's an explicit null" }
  if (Array.isArray(item)) return { problem: 'not supported: associative list with lists as elements' }
  if (isObject(item)) return { problem: "associative list without keys has an element that's a map type" }
  return { element: valueElement(item) }
}

/** A key that is absent counts with its default. */
function withKeyDefaults(
  schema: Schema | undefined,
  keys: readonly string[],
  item: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  let out = item
  for (const key of keys) {
    if (Object.hasOwn(item, key) && item[key] !== undefined) continue
    const fallback = keyDefault(fieldSchema(schema?.items, key))
    if (fallback !== undefined) out = { ...out, [key]: fallback }
  }
  return out
}

/** What a built-in kind always writes counts as empty where it is left out. */
function keyDefault(schema: Schema | undefined): unknown {
  if (schema?.default !== undefined || schema === undefined || !('x-go-field' in schema)) return schema?.default
  if (schema['x-go-field'] !== 'always') return undefined
  return schema.type === 'string' ? '' : schema.type === 'integer' ? 0 : undefined
}

const TYPE_NAME: Schema = { type: 'string' }

/** An object's schema with its apiVersion, kind and metadata typed: a custom resource's own schema can only restrict a few of their values. */
export function objectSchema(schema: Schema | undefined): Schema | undefined {
  const properties = schema?.properties
  if (schema === undefined || properties?.['metadata']?.properties?.['labels'] !== undefined) return schema
  return {
    ...schema,
    properties: { apiVersion: TYPE_NAME, kind: TYPE_NAME, ...properties, metadata: OBJECT_META },
  }
}
