// The old value to compare with on update: an unchanged value may stay invalid.
// Fields correlate by name, items of list maps by their keys, items of other lists not at all.
import { isObject, MAX_JSON_DEPTH } from '#lib/json.ts'
import type { SchemaNode } from './validate-node.ts'

export interface Correlation {
  readonly old: unknown
  readonly value: unknown
  /** The structural schema of the value; branches of anyOf and the like never ratchet. */
  readonly node: SchemaNode
  /** Old items of a list map by key, made on first use. */
  oldItems?: ReadonlyMap<string, unknown>
  unchanged?: boolean
}

export function fieldCorrelation(c: Correlation, name: string, node: SchemaNode): Correlation | undefined {
  if (!isObject(c.old) || !isObject(c.value)) return undefined
  const [old, value] = [ownValue(c.old, name), ownValue(c.value, name)]
  return old === undefined || value === undefined ? undefined : { old, value, node }
}

export function itemCorrelation(c: Correlation, item: unknown): Correlation | undefined {
  const { old, node } = c
  if (node.listType !== 'map' || !node.items || !Array.isArray(old)) return undefined
  c.oldItems ??= itemsByKey(old, node.listMapKeys)
  const key = itemKey(item, node.listMapKeys)
  const found = key === undefined ? undefined : c.oldItems.get(key)
  return found === undefined ? undefined : { old: found, value: item, node: node.items }
}

function itemsByKey(items: readonly unknown[], keys: readonly string[]): ReadonlyMap<string, unknown> {
  const out = new Map<string, unknown>()
  for (const item of items) {
    const key = itemKey(item, keys)
    if (key !== undefined && !out.has(key)) out.set(key, item)
  }
  return out
}

/** undefined: an item without all of its keys, or with a key that is no scalar, correlates with nothing. */
function itemKey(item: unknown, keys: readonly string[]): string | undefined {
  if (!isObject(item) || keys.length === 0) return undefined
  const parts: string[] = []
  for (const k of keys) {
    const v = ownValue(item, k)
    if (v === undefined || typeof v === 'object') return undefined
    parts.push(JSON.stringify([typeof v === 'bigint' ? 'number' : typeof v, String(v)]))
  }
  return parts.join()
}

/** Equal to the old value as far as the schema knows it: a field without a schema counts as changed, the order of a list map does not. */
export function isUnchanged(c: Correlation, depth = 0): boolean {
  c.unchanged ??= depth < MAX_JSON_DEPTH && compare(c, depth)
  return c.unchanged
}

function compare(c: Correlation, depth: number): boolean {
  const { old, value, node } = c
  if (Array.isArray(value)) {
    if (!Array.isArray(old) || old.length !== value.length) return false
    if (node.listType !== 'map' || !node.items) return isSame(old, value, depth)
    return value.every((item) => {
      const child = itemCorrelation(c, item)
      return child !== undefined && isUnchanged(child, depth + 1)
    })
  }
  if (!isObject(value)) return isSame(old, value, depth)
  if (!isObject(old)) return false
  const names = presentKeys(value)
  if (names.length !== presentKeys(old).length) return false
  return names.every((name) => {
    const childNode = node.properties.get(name) ?? (node.additional === 'none' ? undefined : node.additional)
    const child = childNode && fieldCorrelation(c, name, childNode)
    return child !== undefined && isUnchanged(child, depth + 1)
  })
}

/** Plain equality, bounded in depth: too deep to tell counts as changed. */
function isSame(a: unknown, b: unknown, depth: number): boolean {
  if (a === b) return true
  if (depth >= MAX_JSON_DEPTH) return false
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((x, i) => isSame(x, b[i], depth + 1))
  if (!isObject(a) || !isObject(b)) return false
  const names = presentKeys(a)
  return (
    names.length === presentKeys(b).length && names.every((k) => Object.hasOwn(b, k) && isSame(a[k], b[k], depth + 1))
  )
}

const presentKeys = (o: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(o).filter((k) => o[k] !== undefined)

/** Absent and undefined are the same; names of Object.prototype are ignored. */
export const ownValue = (o: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(o, name) ? o[name] : undefined
