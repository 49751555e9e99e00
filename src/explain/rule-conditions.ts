// The condition types that a rule reads, from its tree as written: also those of a rule that does not compile. Pure.
import { isObject } from '#lib/json.ts'

export function conditionsIn(tree: unknown): readonly string[] {
  if (Array.isArray(tree)) return tree.flatMap(conditionsIn)
  if (!isObject(tree)) return []
  const { fact, path } = tree
  const own = fact === 'conditions' && typeof path === 'string' ? [path.split('/')[1] ?? ''] : []
  return [...own, ...Object.values(tree).flatMap(conditionsIn)]
}
