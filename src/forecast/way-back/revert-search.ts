// Which reverts bring a set back to an earlier declaration: found in the history of the branch, and accepted only after a trial in a copy.
import type { BranchCommit, FleetHistory, Trial } from './fleet-history.ts'

/** Cluster by cluster, what the set declares in a commit as one text; null in a cluster that has no such set there, or had not joined. */
export type Declared = readonly (string | null)[]
/** Undefined where the commit cannot be rendered. */
export type DeclaredAt = (commit: string, where: Trial | undefined) => Promise<Declared | undefined>

export type WayBack =
  | { readonly kind: 'Declared' }
  /** Newest first. */
  | { readonly kind: 'Reverts'; readonly commits: readonly BranchCommit[] }
  | { readonly kind: 'Patch'; readonly text: string; readonly like: string }
  /** No searched commit of the branch declares it. */
  | { readonly kind: 'None'; readonly searched: number }

/** Each is tried and rendered; of more the whole series is tried at once. */
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
  // Since the last commit that could be rendered: what they changed shows in the next one that can.
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

/** Where both have the set: a cluster that joins in between brings a declaration, and changes none. */
const agrees = (a: Declared, b: Declared): boolean =>
  a.every((text, i) => text === b[i] || text === null || b[i] === null)

const leadsTo = (older: Declared, wanted: Declared): boolean =>
  older.some((text) => text !== null) && older.every((text, i) => text === null || text === wanted[i])

/** One revert where one is enough: what followed a bad commit may stay. */
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
