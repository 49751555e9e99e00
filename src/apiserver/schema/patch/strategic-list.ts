// Merges lists for strategic merge patch: maps by their merge key, scalars as sets, and in the order that patch and live list together ask for.
import { goText, goType } from '#lib/go-text.ts'
import { isObject } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { withoutNulls } from './merge-patch.ts'
import { PatchError, unknownDirective } from './patch-error.ts'

type JsonMap = Record<string, unknown>
type List = readonly unknown[]
/** Merges one item of a list with the patch item of the same key. */
export type MergeItem = (items: Schema | undefined, live: JsonMap, patch: JsonMap) => JsonMap

const DIRECTIVE = '$patch'

const mergeKeyOf = (field: Schema | undefined): string => field?.['x-kubernetes-patch-merge-key'] ?? ''

export function mergeLists(field: Schema | undefined, live: List, patch: List, mergeItem: MergeItem): List {
  if (live.length === 0 && patch.length === 0) return live
  if (!holdsMaps(live, patch)) return inOrder([...new Set([...live, ...patch])], patch, live, '')
  const mergeKey = mergeKeyOf(field)
  if (mergeKey === '')
    throw new PatchError('Internal', `cannot merge lists without merge key for ${field?.title ?? 'list'}`)
  const { base, wanted } = obeyDirectives(live, patch, mergeKey)
  return inOrder(
    mergeByKey(base, wanted, mergeKey, (a, b) => mergeItem(field?.items, a, b)),
    wanted,
    base,
    mergeKey,
  )
}

export const withoutItems = (live: List, items: List): List => {
  const unwanted = new Set(items)
  return live.filter((item) => !unwanted.has(item))
}

interface OrderRequest {
  readonly field: Schema | undefined
  readonly live: List | undefined
  readonly wanted: List | undefined
  /** The list of the patch as it came. */
  readonly patch: List
  readonly order: List
  readonly mergeItem: MergeItem
}

/** Merges, then follows a $setElementOrder list. Undefined when neither side has the list. */
export function orderLists({ field, live, wanted, patch, order, mergeItem }: OrderRequest): List | undefined {
  const mergeKey = mergeKeyOf(field)
  checkOrder(patch, order, mergeKey)
  const strategy = field?.['x-kubernetes-patch-strategy']?.split(',') ?? []
  if (live === undefined || wanted === undefined) {
    const only = live ?? wanted
    return only === undefined || only.length === 0 ? only : inOrder(only, order, live ?? [], mergeKey)
  }
  const merged = strategy.includes('merge') ? mergeLists(field, live, wanted, mergeItem) : wanted
  return merged.length === 0 ? merged : inOrder(merged, order, live, mergeKey)
}

/** Items of the patch must be in the order that the patch itself declares. */
function checkOrder(patch: List, order: List, mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return
  let at = 0
  for (const item of patch) {
    if (mergeKey !== '' && isObject(item) && Object.hasOwn(item, DIRECTIVE)) continue
    const id = idOf(item, mergeKey)
    while (at < order.length && idOf(order[at], mergeKey) !== id) at++
    if (at++ < order.length) continue
    const text = `The order in patch list:\n${goText(patch)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`
    throw new PatchError('Internal', text)
  }
}

function holdsMaps(...lists: readonly List[]): boolean {
  const types = new Set(lists.flat().map((item) => (Array.isArray(item) ? noListOfLists() : goType(item))))
  if (types.size > 1) throw new PatchError('Internal', `list element types are not identical: ${goText(lists)}`)
  return types.has('map[string]interface {}')
}

const noListOfLists = (): never => {
  throw new PatchError('DoesNotApply', 'lists of lists are not supported')
}

function idOf(item: unknown, mergeKey: string): unknown {
  if (mergeKey === '') return item
  if (!isObject(item))
    throw new PatchError('Internal', `expected a map[string]interface {}, but received a ${goType(item)}`)
  if (Object.hasOwn(item, mergeKey)) return item[mergeKey]
  throw new PatchError('Internal', `map: ${goText(item)} does not contain declared merge key: ${mergeKey}`)
}

/** `$patch: delete` takes matching items out; one `$patch: replace` makes the patch list the whole list. */
function obeyDirectives(live: List, patch: List, mergeKey: string): { base: List; wanted: List } {
  const plain: unknown[] = []
  const unwanted = new Set<unknown>()
  let replace = false
  for (const item of patch as readonly JsonMap[]) {
    if (!Object.hasOwn(item, DIRECTIVE)) plain.push(item)
    else if (item[DIRECTIVE] === 'replace') replace = true
    else if (item[DIRECTIVE] === 'delete') unwanted.add(idOf(item, mergeKey))
    else if (item[DIRECTIVE] === 'merge')
      throw new PatchError('Internal', 'merging lists cannot yet be specified in the patch')
    else throw unknownDirective(item[DIRECTIVE], item)
  }
  if (replace) return { base: plain, wanted: [] }
  const isKept = (item: unknown): boolean =>
    !isObject(item) || !Object.hasOwn(item, mergeKey) || !unwanted.has(item[mergeKey])
  return { base: unwanted.size === 0 ? live : live.filter(isKept), wanted: plain }
}

function mergeByKey(
  base: List,
  wanted: List,
  mergeKey: string,
  merge: (live: JsonMap, patch: JsonMap) => JsonMap,
): List {
  const out = [...base] as JsonMap[]
  const places = placesOf(base, (item) => (isObject(item) ? item[mergeKey] : undefined))
  for (const item of wanted as readonly JsonMap[]) {
    const id = idOf(item, mergeKey)
    const at = places.get(id) ?? out.length
    const found = out[at]
    out[at] = found === undefined ? (withoutNulls(item) as JsonMap) : merge(found, item)
    places.set(id, at)
  }
  return out
}

/** Of several items with one id, the first counts. */
function placesOf(list: List, id: (item: unknown) => unknown): Map<unknown, number> {
  const places = new Map<unknown, number>()
  for (const [i, item] of list.entries()) if (!places.has(id(item))) places.set(id(item), i)
  return places
}

/** Items that `order` names keep that order, the others that of `live`; both are zipped so that the live order is kept where it can be. */
function inOrder(merged: List, order: List, live: List, mergeKey: string): List {
  const wantedPlace = placesOf(order, (item) => idOf(item, mergeKey))
  const livePlace = placesOf(live, (item) => idOf(item, mergeKey))
  const sorted = (items: List, places: ReadonlyMap<unknown, number>): List =>
    items.toSorted((a, b) => (places.get(idOf(a, mergeKey)) ?? -1) - (places.get(idOf(b, mergeKey)) ?? -1))
  const named = sorted(
    merged.filter((item) => wantedPlace.has(idOf(item, mergeKey))),
    wantedPlace,
  )
  const others = sorted(
    merged.filter((item) => !wantedPlace.has(idOf(item, mergeKey))),
    livePlace,
  )
  const out: unknown[] = []
  let next = 0
  for (const other of others) {
    const place = livePlace.get(idOf(other, mergeKey)) ?? -1
    while (next < named.length) {
      const rival = livePlace.get(idOf(named[next], mergeKey)) ?? -1
      if (place >= 0 && rival >= 0 && place < rival) break
      out.push(named[next++])
    }
    out.push(other)
  }
  return [...out, ...named.slice(next)]
}
