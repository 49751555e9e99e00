// Which reverts bring a set back to an earlier declaration: found in the history of the branch, and accepted only after a trial in a copy.
import type { BranchCommit, FleetHistory, Trial } from './fleet-history.ts'

/** What the set declares in a commit, as one text; undefined where the commit cannot be rendered or has no such set. */
export type DeclaredAt = (commit: string, where: Trial | undefined) => Promise<string | undefined>

export type WayBack =
  | { readonly kind: 'Declared' }
  /** Newest first. */
  | { readonly kind: 'Reverts'; readonly commits: readonly BranchCommit[] }
  | { readonly kind: 'Patch'; readonly text: string; readonly like: string }
  /** No searched commit of the branch declares it. */
  | { readonly kind: 'None'; readonly looked: number }

export async function wayBackTo(wanted: string, history: FleetHistory, declaredAt: DeclaredAt): Promise<WayBack> {
  const { commits } = history
  const [head] = commits
  if (head === undefined) return { kind: 'None', looked: 0 }
  let newer = await declaredAt(head.id, undefined)
  if (newer === wanted) return { kind: 'Declared' }
  const changing: BranchCommit[] = []
  for (const [i, older] of commits.slice(1).entries()) {
    const declared = await declaredAt(older.id, undefined)
    const child = commits[i]
    if (declared !== newer && child !== undefined) changing.push(child)
    newer = declared
    if (declared === wanted) return tried(wanted, changing, older, history, declaredAt)
  }
  return { kind: 'None', looked: commits.length }
}

async function tried(
  wanted: string,
  commits: readonly BranchCommit[],
  good: BranchCommit,
  history: FleetHistory,
  declaredAt: DeclaredAt,
): Promise<WayBack> {
  const isWanted = async (trial: Trial | undefined) =>
    trial !== undefined && (await declaredAt(trial.commit, trial)) === wanted
  if (await isWanted(await history.revert(commits))) return { kind: 'Reverts', commits }
  const restored = await history.restore(commits, good.id)
  if (restored !== undefined && (await isWanted(restored)))
    return { kind: 'Patch', text: await history.patchOf(restored), like: good.id }
  return { kind: 'None', looked: history.commits.length }
}

/** One command; merges need the side to keep. */
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
