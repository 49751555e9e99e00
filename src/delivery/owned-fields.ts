// Which fields of an object sync applied: what it no longer declares of them is removed by its next apply. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { isObject } from '#lib/json.ts'
import { isOfSync } from './ownership.ts'

/** The tree of fields in `fieldsV1` form, one for each manager of sync. Undefined if the server keeps no managers. */
function ownedTrees({ metadata: { managedFields } }: KubeObject): readonly object[] | undefined {
  if (managedFields === undefined || managedFields.length === 0) return undefined
  return managedFields
    .filter((m) => isOfSync(m) && m.operation === 'Apply' && (m.subresource ?? '') === '')
    .map((m) => m.fieldsV1 ?? {})
}

/** Labels that sync applied. Where no managers are kept, any label may be one. */
export function isOwnLabel(live: KubeObject, key: string): boolean {
  const trees = ownedTrees(live)
  return trees === undefined || trees.some((tree) => Object.hasOwn(within(tree, 'f:metadata', 'f:labels'), `f:${key}`))
}

/** Whether the next apply removes a label or a field of the spec. */
export const dropsFields = (declared: KubeObject, live: KubeObject): boolean =>
  (ownedTrees(live) ?? []).some(
    (tree) =>
      hasMore(within(tree, 'f:metadata', 'f:labels'), declared.metadata.labels) ||
      hasMore(within(tree, 'f:spec'), declared['spec']),
  )

function within(tree: object, ...path: readonly string[]): object {
  const inner = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), tree)
  return isObject(inner) ? inner : {}
}

const hasMore = (owned: object, declared: unknown): boolean =>
  Object.entries(owned).some(([key, inner]) => {
    if (key === '.') return false
    const value = at(declared, key)
    return value === undefined || (isObject(inner) && hasMore(inner, value))
  })

/** `f:` is a field, `k:` an entry of a list by its key fields, `v:` a value of a list, `i:` an index. */
function at(declared: unknown, key: string): unknown {
  const [kind, rest] = [key.slice(0, 2), key.slice(2)]
  if (kind === 'f:') return isObject(declared) && Object.hasOwn(declared, rest) ? declared[rest] : undefined
  if (!Array.isArray(declared)) return undefined
  if (kind === 'i:') return declared[Number(rest)] as unknown
  const wanted = parsed(rest)
  return declared.find((each: unknown) =>
    kind === 'v:'
      ? each === wanted
      : isObject(each) && isObject(wanted) && Object.entries(wanted).every(([name, v]) => each[name] === v),
  )
}

/** A user who may write the object can write its managers too. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
