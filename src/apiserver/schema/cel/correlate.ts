// Which part of the old object a part of the new one continues, and whether it changed: fields and entries by name, elements of
// lists with keys by their keys, nothing else.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'

/** A part of an object that has a counterpart in the old one. */
export interface Correlation {
  readonly schema: Schema
  readonly value: unknown
  readonly old: unknown
}

export function correlateField(c: Correlation, name: string): Correlation | undefined {
  const { schema, value, old } = c
  if (!isObject(value) || !isObject(old) || !Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined
  const child = propertySchema(schema, name)
  return child === undefined ? undefined : { schema: child, value: value[name], old: old[name] }
}

function propertySchema(schema: Schema, name: string): Schema | undefined {
  const { properties = {}, additionalProperties: additional } = schema
  if (Object.hasOwn(properties, name)) return properties[name]
  return typeof additional === 'object' ? additional : undefined
}

/** Finds the old element under the same keys. */
export type OldElements = (element: unknown) => unknown

export function oldElements(schema: Schema, old: unknown): OldElements {
  const keys = schema['x-kubernetes-list-map-keys']
  if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined || !Array.isArray(old)) return () => undefined
  const byKey = new Map<string, unknown>()
  for (const element of old) if (isObject(element)) byKey.set(identity(schema, keys, element), element)
  return (element) => (isObject(element) ? byKey.get(identity(schema, keys, element)) : undefined)
}

/** A key that is absent counts with its default. */
function identity(schema: Schema, keys: readonly string[], element: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    keys.map((k) => {
      const v = Object.hasOwn(element, k) ? element[k] : schema.items?.properties?.[k]?.default
      return typeof v === 'bigint' ? `${v}n` : (v ?? null)
    }),
  )
}

export function correlateElement(c: Correlation, old: OldElements, element: unknown): Correlation | undefined {
  const found = old(element)
  const { items } = c.schema
  return found === undefined || items === undefined ? undefined : { schema: items, value: element, old: found }
}

/** Equal to its old value; the order of lists with keys does not count. */
export function isUnchanged(c: Correlation): boolean {
  const { value, old, schema } = c
  if (Array.isArray(value) && Array.isArray(old)) {
    if (value.length !== old.length) return false
    if (schema['x-kubernetes-list-type'] !== 'map') return jsonEqual(value, old)
    const find = oldElements(schema, old)
    return value.every((element) => {
      const child = correlateElement(c, find, element)
      return child !== undefined && isUnchanged(child)
    })
  }
  if (!isObject(value) || !isObject(old)) return jsonEqual(value, old)
  const names = Object.keys(value)
  return names.length === Object.keys(old).length && names.every((name) => isFieldUnchanged(c, value, old, name))
}

function isFieldUnchanged(
  c: Correlation,
  value: Readonly<Record<string, unknown>>,
  old: Readonly<Record<string, unknown>>,
  name: string,
): boolean {
  const child = correlateField(c, name)
  if (child !== undefined) return isUnchanged(child)
  return Object.hasOwn(old, name) && jsonEqual(value[name], old[name])
}
