// Lists that are sets or maps by key: no member and no key twice. Words and paths are those of kube-apiserver.
import { goJson } from '#lib/go-format.ts'
import { isObject } from '#lib/json.ts'
import { childPath, duplicate, invalid, keyPath, type FieldError } from './field-error.ts'
import { ownValue } from './ratchet.ts'
import type { PartialWalk, SchemaNode } from './validate-node.ts'

/** Schemas that hold such a list somewhere; the others need no second walk. */
export function nodesWithLists(root: SchemaNode): ReadonlySet<SchemaNode> {
  return nodesLeadingTo(root, (node) => node.listType !== undefined)
}

/** Every node from which a wanted node can be reached, cycles included. */
export function nodesLeadingTo(root: SchemaNode, wanted: (node: SchemaNode) => boolean): ReadonlySet<SchemaNode> {
  const parents = new Map<SchemaNode, SchemaNode[]>([[root, []]])
  const open = [root]
  for (let node = open.pop(); node; node = open.pop())
    for (const child of children(node)) {
      const known = parents.get(child)
      if (known) known.push(node)
      else {
        parents.set(child, [node])
        open.push(child)
      }
    }
  const reached = new Set([...parents.keys()].filter(wanted))
  for (const node of reached) for (const parent of parents.get(node) ?? []) reached.add(parent)
  return reached
}

const children = (node: SchemaNode): readonly SchemaNode[] => [
  ...node.properties.values(),
  ...(node.additional === undefined || node.additional === 'none' ? [] : [node.additional]),
  ...(node.items ? [node.items] : []),
]

export const checkLists: PartialWalk = (node, value, path, relevant, out) => {
  if (!relevant.has(node)) return
  if (Array.isArray(value)) {
    if (node.listType === 'set') checkSet(value, path, out)
    if (node.listType === 'map') checkMap(node.listMapKeys, value, path, out)
    const { items } = node
    if (items) value.forEach((item, i) => checkLists(items, item, keyPath(path, i), relevant, out))
  } else if (isObject(value)) {
    const { additional } = node
    if (additional !== undefined && additional !== 'none')
      for (const k of Object.keys(value).toSorted())
        if (!node.properties.has(k)) checkLists(additional, value[k], keyPath(path, k), relevant, out)
    for (const [name, child] of node.properties)
      checkLists(child, ownValue(value, name), childPath(path, name), relevant, out)
  }
}

function checkSet(items: readonly unknown[], path: string, out: FieldError[]): void {
  for (const i of firstRepeats(items.map(identity))) out.push(duplicate(keyPath(path, i), items[i]))
}

function checkMap(keys: readonly string[], items: readonly unknown[], path: string, out: FieldError[]): void {
  const stray = items.findIndex((item) => item !== null && !isObject(item))
  if (stray >= 0) {
    out.push(invalid(keyPath(path, stray), items[stray], 'must be an object for an array of list-type map'))
    return
  }
  const keysOf = items.map((item) => pickKeys(item, keys))
  for (const i of firstRepeats(keysOf.map(identity))) out.push(duplicate(keyPath(path, i), keysOf[i]))
}

/** Keys that the item lacks are left out: two items without the same key are duplicates too. */
function pickKeys(item: unknown, keys: readonly string[]): Readonly<Record<string, unknown>> {
  const own = isObject(item) ? item : {}
  return Object.fromEntries(keys.filter((k) => ownValue(own, k) !== undefined).map((k) => [k, own[k]]))
}

/** Equal texts for equal values; a string never equals a number. */
const identity = (value: unknown): string => goJson(value)

/** The second position of each duplicate value; further ones are not reported. */
function firstRepeats(ids: readonly string[]): readonly number[] {
  const seen = new Map<string, number>()
  const repeats: number[] = []
  ids.forEach((id, i) => {
    const times = seen.get(id) ?? 0
    if (times === 1) repeats.push(i)
    seen.set(id, times + 1)
  })
  return repeats
}
