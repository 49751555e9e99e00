// Makes a tree in which a commit's files are as before that commit, and everything else is as in the newest commit. Pure over the trees that it reads.
// Reads only folders that differ, so the repository's size does not matter.
import type { TreeEntry } from '../git/tree-entries.ts'
import { difference, MOST_REVERTED } from '../trust/changes.ts'

export interface PutBackTree {
  /** Trees of the restored commit, of the reverted one, and of the newest one. */
  readonly good: string
  readonly bad: string
  readonly parent: string
  readonly treeOf: (id: string) => readonly TreeEntry[]
  /** Returns the id of a tree with these entries, in git's order. */
  readonly write: (entries: readonly TreeEntry[]) => string
}

export type PutBack =
  | { readonly kind: 'Tree'; readonly tree: string; readonly paths: readonly string[] }
  | { readonly kind: 'Problem'; readonly why: string }

export function putBack({ good, bad, parent, treeOf, write }: PutBackTree): PutBack {
  const taken = difference(good, bad, treeOf, MOST_REVERTED)
  if (taken === undefined) return problem(`more than ${MOST_REVERTED} files differ`)
  if (taken.size === 0) return problem('both commits have the same files')
  const merged = mergedTree({ good, bad, parent }, '', { treeOf, write })
  if ('changedSince' in merged) return problem(`${merged.changedSince} was changed again since`)
  return { kind: 'Tree', tree: merged.tree ?? write([]), paths: [...taken.keys()].toSorted() }
}

const problem = (why: string): PutBack => ({ kind: 'Problem', why })

type Trees = Pick<PutBackTree, 'treeOf' | 'write'>

/** The same path in the three commits; undefined where it does not exist. */
interface Three<T> {
  readonly good: T | undefined
  readonly bad: T | undefined
  readonly parent: T | undefined
}

/** Without a tree the folder is empty; git keeps no empty folders. */
type Merged = { readonly tree: string | undefined } | { readonly changedSince: string }

function mergedTree(ids: Three<string>, folder: string, trees: Trees): Merged {
  if (ids.good === ids.bad) return { tree: ids.parent }
  if (ids.parent === ids.bad) return { tree: ids.good }
  const [good, bad, parent] = [ids.good, ids.bad, ids.parent].map(
    (id) => new Map((id === undefined ? [] : trees.treeOf(id)).map((e) => [e.name, e])),
  )
  const entries: TreeEntry[] = []
  for (const name of new Set([...(good?.keys() ?? []), ...(bad?.keys() ?? []), ...(parent?.keys() ?? [])])) {
    const three = { good: good?.get(name), bad: bad?.get(name), parent: parent?.get(name) }
    const path = folder === '' ? name : `${folder}/${name}`
    const found = mergedEntry(three, path, trees)
    if ('changedSince' in found) return found
    if (found.entry !== undefined) entries.push({ ...found.entry, name })
  }
  return { tree: entries.length === 0 ? undefined : trees.write(entries.toSorted(asGit)) }
}

function mergedEntry(
  { good, bad, parent }: Three<TreeEntry>,
  path: string,
  trees: Trees,
): { readonly entry: Omit<TreeEntry, 'name'> | undefined } | { readonly changedSince: string } {
  if (isSame(good, bad)) return { entry: parent }
  if (isSame(parent, bad)) return { entry: good }
  if ([good, bad, parent].some((e) => e !== undefined && e.kind !== 'tree')) return { changedSince: path }
  const below = mergedTree({ good: good?.oid, bad: bad?.oid, parent: parent?.oid }, path, trees)
  if ('changedSince' in below) return below
  return { entry: below.tree === undefined ? undefined : { kind: 'tree', oid: below.tree } }
}

const isSame = (a: TreeEntry | undefined, b: TreeEntry | undefined): boolean =>
  a?.oid === b?.oid && a?.kind === b?.kind && (a?.isExecutable === true) === (b?.isExecutable === true)

/** Folders are sorted as if their names ended in a slash, by bytes. */
function asGit(a: TreeEntry, b: TreeEntry): number {
  const key = ({ name, kind }: TreeEntry) => Buffer.from(kind === 'tree' ? `${name}/` : name)
  return Buffer.compare(key(a), key(b))
}
