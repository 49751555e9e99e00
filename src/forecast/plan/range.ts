// Parses commits and ranges as typed: main, HEAD~2, BASE..HEAD, BASE...HEAD.
import type { GitRepository } from '#sync/git/repository.ts'
import { titledIn } from '#sync/git/titled-in.ts'
import { shortCommit } from '#api/protocol/commit-title.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { gitErrors } from '#sync/git/git-errors.ts'
import { mergeBase } from '#sync/trust/history.ts'
import { planErrors } from './plan-errors.ts'

export const noRange = (range: string): KubeNodeError =>
  new KubeNodeError(planErrors.KN1002_range({ range: JSON.stringify(range) }))

/** A commit, branch or tag that can be typed again. */
const ONE_COMMIT = /^[\w/~^@-]+(\.[\w/~^@-]+)*$/

/** Git's default for an omitted end of a range. */
const HERE = 'HEAD'

export interface Range {
  readonly base: string
  readonly head: string
  /** Three dots: the base is the common ancestor. */
  readonly isFromFork: boolean
}

/** In git's notation. */
export function rangeOf(range: string): Range {
  if (ONE_COMMIT.test(range)) throw new KubeNodeError(planErrors.KN1002_oneEnd({ revision: range }))
  const [, base, dots, head] = /^((?:[^.][^]*?)?)(?<!\.)(\.{2,3})((?:[^.][^]*)?)$/.exec(range) ?? []
  if (base === undefined || head === undefined || base + head === '') throw noRange(range)
  return { base: base || HERE, head: head || HERE, isFromFork: dots === '...' }
}

/** More than people count. */
const MOST_BACK = 1_000

type Commits = Pick<GitRepository, 'resolve' | 'commit' | 'name'>

/** A branch, tag or commit, also relative to one as in git: HEAD~2, main^. `@` is HEAD. */
export async function commitCalled(repository: Commits, revision: string): Promise<string> {
  const missing = (why: string) =>
    new KubeNodeError(planErrors.KN1664({ revision: JSON.stringify(revision), repository: repository.name, why }))
  const [, name = revision, back = ''] = /^([^~^]+)((?:~\d{0,4}|\^\d?)*)$/.exec(revision) ?? []
  let id: string
  try {
    id = await repository.resolve(name === '@' ? HERE : name)
  } catch (e) {
    if (isKubeNodeError(e) && e.code === gitErrors.KN1664_read.code)
      throw missing('no branch, tag or commit has this name')
    throw e
  }
  for (const parent of stepsBack(back)) {
    const next = (await repository.commit(id)).parents[parent]
    if (next === undefined) throw missing(`commit ${await titledIn(repository, id)} has no such parent`)
    id = next
  }
  return id
}

/** Which parent to follow at each step: `~2` is the first twice, `^2` the second. */
function stepsBack(back: string): readonly number[] {
  return [...back.matchAll(/([~^])(\d*)/g)]
    .flatMap(([, sign, digits = '']) => {
      const n = digits === '' ? 1 : Number(digits)
      if (sign === '~') return Array.from({ length: n }, () => 0)
      return n === 0 ? [] : [n - 1]
    })
    .slice(0, MOST_BACK)
}

type Histories = Pick<GitRepository, 'commit'>

/** The commit that a range compares with. */
export async function baseOf(
  repository: Commits,
  { base, isFromFork }: Pick<Range, 'base' | 'isFromFork'>,
  commit: string,
): Promise<string> {
  const found = await commitCalled(repository, base)
  return isFromFork ? forkOf(repository, found, commit) : found
}

/** The newest common commit. A shallow clone, as in many CI jobs, may not reach it. */
async function forkOf(repository: Histories, base: string, commit: string): Promise<string> {
  const common = await mergeBase(base, commit, (id) => repository.commit(id)).catch(() => undefined)
  if (common !== undefined) return common
  throw new KubeNodeError(
    planErrors.KN1666({
      base: await titledIn(repository, base),
      head: await titledIn(repository, commit),
      commit: shortCommit(commit),
    }),
  )
}

/** A warning if the base has commits that the planned one lacks: the comparison shows them in reverse, which no merge does. */
export async function apartWarning(repository: Histories, base: string, commit: string): Promise<string | undefined> {
  let common: string | undefined
  try {
    common = await mergeBase(base, commit, (id) => repository.commit(id))
  } catch {
    // A shallow clone's history ends; the plan continues without the warning.
    return undefined
  }
  if (common === undefined || common === base || common === commit) return undefined
  const [from, to] = [await titledIn(repository, base), await titledIn(repository, commit)]
  return `commit ${to} lacks commits of ${from}, and what these changed is shown in reverse, which a merge does not do: merge or rebase first, or plan ${shortCommit(common)}..${shortCommit(commit)}, the branch alone`
}
