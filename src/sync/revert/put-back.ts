// Makes the tree that has the files of a commit as before it, and everything else as in the newest commit. Pure over the trees that it reads.
import type { TreeEntry } from '../git/tree-entries.ts'
import { difference } from '../trust/changes.ts'

export interface PutBackTree {
  /** Trees of the commit that comes back, of the one that goes, and of the newest one. */
  readonly good: string
  readonly bad: string
  readonly parent: string
  readonly treeOf: (id: string) => readonly TreeEntry[]
  /** Names a tree with these entries, in the order of git. */
  readonly write: (entries: readonly TreeEntry[]) => string
}

export type PutBack =
  | { readonly kind: 'Tree'; readonly tree: string; readonly paths: readonly string[] }
  | { readonly kind: 'Problem'; readonly why: string }

export function putBack({ good, bad, parent, treeOf, write }: PutBackTree): PutBack {
  const taken = difference(good, bad, treeOf)
  const since = difference(bad, parent, treeOf)
  if (taken === undefined || since === undefined) return problem('too many files differ to be compared')
  if (taken.size === 0) return problem('both commits have the same files')
  const paths = [...taken.keys()].toSorted()
  const touched = paths.find((path) => [...since.keys()].some((other) => isSameOrBelow(path, other)))
  if (touched !== undefined) return problem(`${touched} was changed again since`)
  const edits = new Map(paths.map((path) => [path, entryAt(good, path, treeOf)]))
  const tree = parent === bad ? good : (edited(parent, edits, { treeOf, write }) ?? write([]))
  return { kind: 'Tree', tree, paths }
}

const problem = (why: string): PutBack => ({ kind: 'Problem', why })

/** Also a folder in the place of a file. */
const isSameOrBelow = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)

type Trees = Pick<PutBackTree, 'treeOf' | 'write'>

function entryAt(root: string, path: string, treeOf: PutBackTree['treeOf']): TreeEntry | undefined {
  const [name = '', ...below] = path.split('/')
  const entry = treeOf(root).find((e) => e.name === name)
  if (below.length === 0) return entry?.kind === 'tree' ? undefined : entry
  return entry?.kind === 'tree' ? entryAt(entry.oid, below.join('/'), treeOf) : undefined
}

/** Undefined: nothing is left in it; git keeps no empty folders. */
function edited(
  root: string | undefined,
  edits: ReadonlyMap<string, TreeEntry | undefined>,
  trees: Trees,
): string | undefined {
  const entries = new Map((root === undefined ? [] : trees.treeOf(root)).map((e) => [e.name, e]))
  const byName = Map.groupBy(edits, ([path]) => path.split('/')[0] ?? '')
  for (const [name, all] of byName) {
    const below = new Map(
      all.flatMap(([path, e]) => (path === name ? [] : [[path.slice(name.length + 1), e] as const])),
    )
    const own = all.find(([path]) => path === name)
    const old = entries.get(name)
    const folder = below.size === 0 ? undefined : edited(old?.kind === 'tree' ? old.oid : undefined, below, trees)
    const file = own?.[1]
    if (file !== undefined) entries.set(name, file)
    else if (folder !== undefined) entries.set(name, { name, kind: 'tree', oid: folder })
    else entries.delete(name)
  }
  return entries.size === 0 ? undefined : trees.write([...entries.values()].toSorted(asGit))
}

/** Folders are sorted as if their names ended in a slash, by bytes. */
function asGit(a: TreeEntry, b: TreeEntry): number {
  const key = ({ name, kind }: TreeEntry) => Buffer.from(kind === 'tree' ? `${name}/` : name)
  return Buffer.compare(key(a), key(b))
}
