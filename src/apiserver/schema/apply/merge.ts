// Merges an applied configuration over an object: maps by key, associative lists by item in an order that respects both sides, the rest whole.
// Nothing is ever removed here. What does not change is shared; the object itself is returned when nothing changes.
import { isObject, jsonEqual, setOwn } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { fieldSchema, isAtomicMap, itemElement, listKeys, shapeOf } from './typing.ts'

type JsonMap = Record<string, unknown>
type List = readonly unknown[]

export function mergeValues(schema: Schema | undefined, live: unknown, applied: unknown): unknown {
  if (applied === undefined || live === applied) return live
  if (live === undefined) return applied
  const shape = shapeOf(schema, applied)
  if (shape === 'map' && !isAtomicMap(schema)) {
    if (applied === null) return isObject(live) && Object.keys(live).length > 0 ? live : null
    if (isObject(live)) return mergeMaps(schema, live, applied as JsonMap)
  }
  if (shape === 'list') {
    const keys = listKeys(schema)
    if (keys !== undefined) {
      if (applied === null) return Array.isArray(live) && live.length > 0 ? live : null
      if (Array.isArray(live)) return mergeLists(schema, keys, live, applied as List)
    }
  }
  return jsonEqual(live, applied) ? live : applied
}

function mergeMaps(schema: Schema | undefined, live: JsonMap, applied: JsonMap): JsonMap {
  let out: JsonMap | undefined
  for (const name of Object.keys(applied)) {
    const before = Object.hasOwn(live, name) ? live[name] : undefined
    const after = mergeValues(fieldSchema(schema, name), before, applied[name])
    if (after === before) continue
    out ??= { ...live }
    setOwn(out, name, after)
  }
  return out ?? live
}

interface Side {
  readonly elements: readonly string[]
  readonly items: List
  readonly byElement: ReadonlyMap<string, unknown>
}

/** Items of the live list that share a key merge with nothing. */
function sideOf(schema: Schema | undefined, keys: readonly string[], list: List): Side {
  const elements: string[] = []
  const items: unknown[] = []
  const byElement = new Map<string, unknown>()
  for (const item of list) {
    const named = itemElement(schema, keys, item)
    if (!('element' in named)) continue
    elements.push(named.element)
    items.push(item)
    byElement.set(named.element, byElement.has(named.element) ? null : item)
  }
  return { elements, items, byElement }
}

/**
 * Live and applied list are walked together. Items only in the live list keep their place; items in both follow
 * the order of the applied list, a live item being skipped until its turn comes.
 */
function mergeLists(schema: Schema | undefined, keys: readonly string[], live: List, applied: List): List {
  const l = sideOf(schema, keys, live)
  const r = sideOf(schema, keys, applied)
  const shared = r.elements.filter((e) => l.byElement.has(e))
  const out: unknown[] = []
  const taken = new Set<string>()
  let nextShared = 0
  const merged = (e: string): unknown => mergeValues(schema?.items, l.byElement.get(e), r.byElement.get(e))
  const take = (e: string): void => {
    taken.add(e)
    out.push(merged(e))
    if (shared[nextShared] === e) nextShared++
  }
  let li = 0
  let ri = 0
  while (li < l.elements.length || ri < r.elements.length) {
    const le = l.elements[li]
    const re = r.elements[ri]
    if (le !== undefined && re !== undefined) {
      if (le === re) {
        taken.add(le)
        out.push(merged(le))
        nextShared++
        li++
        ri++
        continue
      }
      if (r.byElement.has(le) && nextShared < shared.length && shared[nextShared] !== le) {
        li++
        continue
      }
    }
    if (le !== undefined) {
      if (!r.byElement.has(le)) {
        out.push(l.items[li++])
        continue
      }
      if (taken.has(le)) li++
    }
    if (re !== undefined) {
      take(re)
      ri++
    }
  }
  return out.length === live.length && out.every((item, i) => item === live[i]) ? live : out
}
