// Finds the reverts that bring a set back to an earlier declaration. Searches the branch's history and accepts a result only after a trial in a copy.
import type { BranchCommit, FleetHistory, Trial } from './fleet-history.ts'

/** Per cluster, the set's declaration in a commit as one text; null if the cluster has no such set, or had not joined. */
export type Declared = readonly (string | null)[]
/** Undefined if the commit does not render. */
export type DeclaredAt = (commit: string, where: Trial | undefined) => Promise<Declared | undefined>

export type WayBack =
  | { readonly kind: 'Declared' }
  /** Newest first. */
  | { readonly kind: 'Reverts'; readonly commits: readonly BranchCommit[] }
  | { readonly kind: 'Patch'; readonly text: string; readonly like: string }
  /** No searched commit of the branch declares it. */
  | { readonly kind: 'None'; readonly searched: number }

/** Each single revert is tried and rendered; beyond this only the whole series is. */
const MOST_SINGLE = 5

export async function wayBackTo(wanted: Declared, history: FleetHistory, declaredAt: DeclaredAt): Promise<WayBack> {
  const { commits } = history
  const [head] = commits
  const none: WayBack = { kind: 'None', searched: commits.length }
  if (head === undefined) return none
  let newer = await declaredAt(head.id, undefined)
  if (newer === undefined) return none
  if (isSame(newer, wanted)) return { kind: 'Declared' }
  const changing: BranchCommit[] = []
  // Commits since the last one that rendered: their changes show up in the next one that does.
  let between: BranchCommit[] = []
  for (const [i, older] of commits.slice(1).entries()) {
    between = [...between, ...commits.slice(i, i + 1)]
    const declared = await declaredAt(older.id, undefined)
    if (declared === undefined) continue
    if (!agrees(declared, newer)) changing.push(...between)
    between = []
    newer = declared
    if (!leadsTo(declared, wanted) || changing.length === 0) continue
    const way = await tried(wanted, changing, older, history, declaredAt)
    if (way !== undefined) return way
  }
  return none
}

const isSame = (a: Declared, b: Declared): boolean => a.length === b.length && a.every((text, i) => text === b[i])

/** Compares clusters that have the set in both: one that joins in between adds a declaration but changes none. */
const agrees = (a: Declared, b: Declared): boolean =>
  a.every((text, i) => text === b[i] || text === null || b[i] === null)

const leadsTo = (older: Declared, wanted: Declared): boolean =>
  older.some((text) => text !== null) && older.every((text, i) => text === null || text === wanted[i])

/** Prefers a single revert: commits after a bad one may stay. */
async function tried(
  wanted: Declared,
  commits: readonly BranchCommit[],
  good: BranchCommit,
  history: FleetHistory,
  declaredAt: DeclaredAt,
): Promise<WayBack | undefined> {
  const isWanted = async (trial: Trial | undefined) => {
    const declared = trial && (await declaredAt(trial.commit, trial))
    return declared !== undefined && isSame(declared, wanted)
  }
  const singles = commits.length > 1 ? commits.slice(0, MOST_SINGLE).map((commit) => [commit]) : []
  for (const series of [...singles, commits])
    if (await isWanted(await history.revert(series))) return { kind: 'Reverts', commits: series }
  const restored = await history.restore(commits, good.id)
  return restored !== undefined && (await isWanted(restored))
    ? { kind: 'Patch', text: await history.patchOf(restored), like: good.id }
    : undefined
}

export function revertCommand(commits: readonly BranchCommit[]): string {
  const runs: BranchCommit[][] = []
  for (const commit of commits) {
    const last = runs.at(-1)
    if (last !== undefined && last[0]?.isMerge === commit.isMerge) last.push(commit)
    else runs.push([commit])
  }
  return runs
    .map((run) => `git revert --no-edit ${run[0]?.isMerge === true ? '-m 1 ' : ''}${run.map((c) => c.id).join(' ')}`)
    .join(' && ')
}
