// Decides whether a commit reverts a named commit, path by path, and nothing else: sync's key may sign nothing beyond that. Pure over the trees that it
// reads. Invariant: what such a commit restores was signed before, is the same byte for byte, and was not changed since.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { TreeEntry } from '../git/tree-entries.ts'
import { difference, type Difference, MOST_REVERTED } from './changes.ts'
import type { CommitFacts } from './commit-facts.ts'
import { revertNamedIn, type NamedRevert } from './revert-trailers.ts'

export interface RevertReader {
  readonly factsOf: (id: string) => Pick<CommitFacts, 'tree' | 'parents'>
  readonly messageOf: (id: string) => string
  /** Whether a key of sync signed the commit. */
  readonly isOfSync: (id: string) => Promise<boolean>
  readonly treeOf: (id: string) => readonly TreeEntry[]
}

export interface RevertLimits {
  /** Commits before it were not verified. */
  readonly anchor: string
  /** Every verified commit is on the first-parent line that leads to the anchor. */
  readonly isAnchorOnLine: boolean
  /** Paths that no program may restore. */
  readonly never: readonly string[]
}

/** How many commits may be between the restored one and the revert. */
const MAX_BACK = 1_000

/** Undefined: it is an exact revert. Otherwise the rest of a sentence that starts with the commit. */
export async function revertProblem(id: string, read: RevertReader, limits: RevertLimits): Promise<string | undefined> {
  const named = revertNamedIn(read.messageOf(id))
  if (named === undefined) return 'does not name one commit that it reverts and one that it restores'
  const { parents, tree } = read.factsOf(id)
  const [parent, second] = parents
  if (parent === undefined || second !== undefined) return 'does not have exactly one parent'
  const away = await lineProblem(parent, named, read, limits.anchor)
  if (away !== undefined) return away
  if (!limits.isAnchorOnLine && !isAfter(limits.anchor, named.restores, read))
    return `restores ${shortCommit(named.restores)}, which does not follow the anchor on its own line`
  const trees = (commit: string) => read.factsOf(commit).tree
  const taken = difference(trees(named.restores), trees(named.reverts), read.treeOf, MOST_REVERTED)
  const done = difference(trees(parent), tree, read.treeOf, MOST_REVERTED)
  if (taken === undefined || done === undefined) return 'changes more files than can be compared'
  const kept = limits.never.find((path) => taken.has(path))
  if (kept !== undefined) return `puts back ${kept}, the signers file`
  return differenceProblem(taken, done)
}

/** Checks that both commits are on the first-parent line, in this order, and that sync neither signed the reverted commit nor reverted it before. */
async function lineProblem(
  parent: string,
  { reverts, restores }: NamedRevert,
  read: RevertReader,
  anchor: string,
): Promise<string | undefined> {
  let isBelow = false
  for (let [at, steps] = [parent as string | undefined, 0]; at !== undefined && steps < MAX_BACK; steps++) {
    if (at === restores) return isBelow ? undefined : 'restores a commit that is not older than the one that it reverts'
    if (await read.isOfSync(at)) {
      if (isBelow || at === reverts) return `reverts ${shortCommit(at)}, which is a revert by sync`
      if (revertNamedIn(read.messageOf(at))?.reverts === reverts) return `reverts ${shortCommit(reverts)} a second time`
    }
    isBelow ||= at === reverts
    if (at === anchor) break
    at = read.factsOf(at).parents[0]
  }
  const missing = isBelow ? restores : reverts
  return `names ${shortCommit(missing)}, which is none of the verified commits before it`
}

/** Same as the limit of a range. */
const MAX_LINE = 50_000

function isAfter(anchor: string, id: string, { factsOf }: RevertReader): boolean {
  let at: string | undefined = id
  for (let steps = 0; at !== undefined && at !== anchor && steps < MAX_LINE; steps++) at = factsOf(at).parents[0]
  return at === anchor
}

function differenceProblem(taken: Difference, done: Difference): string | undefined {
  if (taken.size === 0) return 'names two commits with the same files'
  for (const [path, { before, after }] of done) {
    const wanted = taken.get(path)
    if (wanted === undefined) return `changes ${path}, which the reverted commit did not change`
    if (after !== wanted.before) return `does not restore ${path} as it was`
    if (before !== wanted.after) return `changes ${path}, which another commit has changed since`
  }
  const left = [...taken.keys()].find((path) => !done.has(path))
  return left === undefined ? undefined : `does not put back ${left}`
}
