// Which files differ between two trees. Folders with equal ids are equal, so only changed ones are read.
import type { TreeEntry } from '../git/tree-entries.ts'
import { defined } from '#lib/defined.ts'

/** A file's content and mode; absent for a missing file. */
export type Difference = ReadonlyMap<string, { readonly before?: string; readonly after?: string }>

export interface ChangedPaths {
  readonly paths: readonly string[]
  /** False: there are more changes, and they are unknown. */
  readonly isWhole: boolean
}

/** A commit that changes more is judged as if it changed everything. */
const MAX_CHANGED = 5_000
const MAX_TREES = 20_000
/** Limit of entries read in one go, which takes a second: a hundred folders with ten thousand names each. */
const MAX_ENTRIES = 1_000_000

const UNKNOWN_CHANGES: ChangedPaths = { paths: [], isWhole: false }

/** A revert is compared path by path, whatever its size: even a commit that updated a folder of vendored files can be reverted. */
export const MOST_REVERTED = 100_000

/** `undefined`: too many differences. An undefined tree is empty. */
export function difference(
  before: string | undefined,
  after: string | undefined,
  treeOf: (id: string) => readonly TreeEntry[],
  most: number = MAX_CHANGED,
): Difference | undefined {
  const found = new Map<string, { before?: string; after?: string }>()
  const waiting: (readonly [string, string | undefined, string | undefined])[] = [['', before, after]]
  let entries = 0
  for (let trees = 0; waiting.length > 0; trees++) {
    const [folder, old, now] = waiting.pop() as (typeof waiting)[number]
    if (trees > MAX_TREES || entries > MAX_ENTRIES || found.size > most) return undefined
    if (old === now) continue
    const [left, right] = [old, now].map((id) => new Map((id === undefined ? [] : treeOf(id)).map((e) => [e.name, e])))
    entries += (left?.size ?? 0) + (right?.size ?? 0)
    for (const name of new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])) {
      const [a, b] = [left?.get(name), right?.get(name)]
      const path = folder === '' ? name : `${folder}/${name}`
      const [treeA, treeB] = [a, b].map((e) => (e?.kind === 'tree' ? e.oid : undefined))
      if (treeA !== treeB) waiting.push([path, treeA, treeB])
      const [fileA, fileB] = [a, b].map(fileId)
      if (fileA !== fileB) found.set(path, defined({ before: fileA, after: fileB }))
    }
  }
  return found
}

const fileId = (e: TreeEntry | undefined): string | undefined =>
  e === undefined || e.kind === 'tree' ? undefined : `${e.kind} ${e.isExecutable === true ? 'x ' : ''}${e.oid}`

export const changedPaths = (d: Difference | undefined): ChangedPaths =>
  d === undefined ? UNKNOWN_CHANGES : { paths: [...d.keys()].toSorted(), isWhole: true }

export interface Merge {
  /** From each of the two parents to the merge. */
  readonly toMerge: readonly [Difference | undefined, Difference | undefined]
  /** From the parents' common base to each parent. */
  readonly fromBase: readonly [Difference | undefined, Difference | undefined]
}

/**
 * What the merge's author decided: files that differ from both parents, and files taken from the parent that had not changed them, or that both had
 * changed. Everything else is merged by git itself, and belongs to the merged commits.
 */
export function mergersOwn({ toMerge: [first, second], fromBase: [baseFirst, baseSecond] }: Merge): ChangedPaths {
  if (first === undefined || second === undefined || baseFirst === undefined || baseSecond === undefined)
    return UNKNOWN_CHANGES
  const own = [...first.keys()].filter((path) => second.has(path) || baseFirst.has(path))
  const dropped = [...second.keys()].filter((path) => !first.has(path) && baseSecond.has(path))
  return { paths: [...own, ...dropped].toSorted(), isWhole: true }
}
