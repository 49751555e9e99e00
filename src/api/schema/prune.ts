// Removes fields that a schema does not have, and nulls where none are allowed, as the API server does before validation. Never changes the input.
import { isObject, MAX_JSON_DEPTH } from '#lib/json.ts'
import type { Schema } from './schema.ts'

export interface Pruned {
  /** The input itself if nothing was removed. */
  readonly value: unknown
  /** Sorted paths as in `unknown field "spec.foo"`. */
  readonly unknownFields: readonly string[]
}

export interface PruneOptions {
  /** The value is a whole object: its apiVersion, kind and metadata stay whatever the schema allows. */
  readonly embeddedRoot?: boolean
  /** How many unknown fields to list, plus one if there are more; all are removed. */
  readonly mostUnknown?: number
}

export function prune(schema: Schema, value: unknown, options: PruneOptions = {}): Pruned {
  const known = dropUnknown(schema, value, options)
  return { ...known, value: dropNulls(schema, known.value) }
}

/** Fields only; nulls stay. */
export function dropUnknown(
  schema: Schema,
  value: unknown,
  { embeddedRoot = false, mostUnknown = Number.POSITIVE_INFINITY }: PruneOptions = {},
): Pruned {
  const unknownFields = new UnknownFields(mostUnknown)
  const root: Schema = embeddedRoot ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema
  const known = pruneValue(root, value, '', 0, unknownFields)
  return { value: known, unknownFields: unknownFields.names.toSorted() }
}

class UnknownFields {
  readonly names: string[] = []
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  add(name: string): void {
    if (this.names.length <= this.#most) this.names.push(name)
  }
}

const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** `schema` undefined: nothing is known here, so every field is removed. */
function pruneValue(
  schema: Schema | undefined,
  value: unknown,
  path: string,
  depth: number,
  unknown: UnknownFields,
): unknown {
  const preserve = schema?.['x-kubernetes-preserve-unknown-fields'] === true
  if (Array.isArray(value)) {
    // Only lists of lists without a schema get this deep; all their fields would be removed.
    if (depth > MAX_JSON_DEPTH) return []
    const items = itemsOf(schema)
    if (preserve && !items) return value
    return mapItems(value, (item, i) =>
      preserve && items
        ? pruneValue(
            { ...items, 'x-kubernetes-preserve-unknown-fields': true },
            item,
            `${path}[${i}]`,
            depth + 1,
            unknown,
          )
        : pruneValue(items, item, `${path}[${i}]`, depth + 1, unknown),
    )
  }
  if (!isObject(value)) return value
  const embedded = schema?.['x-kubernetes-embedded-resource'] === true
  return mapFields(value, (v, name) => {
    if (embedded && META_FIELDS.has(name)) return v
    const field = path === '' ? name : `${path}.${name}`
    const property = propertyOf(schema, name)
    if (property) return pruneValue(property, v, field, depth + 1, unknown)
    if (schema?.additionalProperties !== undefined)
      return pruneValue(additionalOf(schema), v, field, depth + 1, unknown)
    if (preserve) return v
    if (path !== '' || !META_FIELDS.has(name) || schema === undefined) unknown.add(field)
    return undefined
  })
}

/** Removes nulls that are neither allowed nor replaced by a default; nulls in lists stay, for validation to find. */
export function dropNulls(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined) return value
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    return items ? mapItems(value, (item) => dropNulls(items, item)) : value
  }
  if (!isObject(value)) return value
  return mapFields(value, (v, name) => {
    const sub = propertyOf(schema, name) ?? additionalOf(schema)
    if (v === null && sub && sub.nullable !== true && !hasDefault(sub)) return undefined
    return dropNulls(sub, v)
  })
}

/** A null default counts as none. */
export const hasDefault = (schema: Schema): boolean => schema.default !== undefined && schema.default !== null

export function propertyOf(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties
  const found = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  return isObject(found) ? found : undefined
}

/** Also undefined for `additionalProperties: true`: any name, nothing known below. */
export function additionalOf(schema: Schema | undefined): Schema | undefined {
  const additional = schema?.additionalProperties
  return isObject(additional) ? additional : undefined
}

export const itemsOf = (schema: Schema | undefined): Schema | undefined =>
  isObject(schema?.items) ? schema.items : undefined

/** A new list only if an item changed. */
export function mapItems(list: readonly unknown[], change: (item: unknown, i: number) => unknown): readonly unknown[] {
  let out: unknown[] | undefined
  for (let i = 0; i < list.length; i++) {
    const item = change(list[i], i)
    if (item !== list[i]) out ??= list.slice(0, i)
    out?.push(item)
  }
  return out ?? list
}

/** A new object only if a field changed or was removed (undefined). */
export function mapFields(
  from: Readonly<Record<string, unknown>>,
  change: (value: unknown, name: string) => unknown,
): Readonly<Record<string, unknown>> {
  const names = Object.keys(from)
  let out: Record<string, unknown> | undefined
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? ''
    const before = from[name]
    const after = before === undefined ? undefined : change(before, name)
    if (after !== before && out === undefined) {
      out = {}
      for (let j = 0; j < i; j++) putField(out, names[j] ?? '', from[names[j] ?? ''])
    }
    if (out !== undefined) putField(out, name, after)
  }
  return out ?? from
}

/** Defines a field instead of assigning it, for names that are special on every object: `__proto__` is data, and a frozen Object.prototype does not matter. */
export function putField(to: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return
  if (name in to) Object.defineProperty(to, name, { value, writable: true, enumerable: true, configurable: true })
  else to[name] = value
}
