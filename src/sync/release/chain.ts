// The Releases of a track as a chain: the newest one, a cluster's previous content, the name of the next one, and which old ones may be deleted. Pure.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { createdAt, createdMs } from '#api/schema/object-meta.ts'
import type { SeenCluster } from './cluster-seen.ts'
import { hasPassedStage, mayHaveTouched, statusIn } from './history.ts'
import { isOver } from './release-seen.ts'

export interface TrackOf {
  readonly source: string
  readonly track: string
}

export const releasesIn = (all: readonly Release[], namespace: string | undefined): readonly Release[] =>
  all.filter((r) => r.metadata.namespace === namespace)

/** Oldest first. Each Release names the previous one, because creation times have only whole seconds. */
export function chainOf(all: readonly Release[], { source, track }: TrackOf): readonly Release[] {
  const own = all.filter(({ spec }) => spec.source === source && spec.track === track)
  const byName = new Map(own.map((r) => [r.metadata.name ?? '', r]))
  const named = new Set(own.flatMap((r) => r.spec.previous ?? []))
  // Normally one. There are more only when two were made at the same time; then the later by time and name counts.
  const heads = own.filter((r) => !named.has(r.metadata.name ?? '')).toSorted(byAge)
  const chain: Release[] = []
  const seen = new Set<Release>()
  for (let at = heads.at(-1); at !== undefined && !seen.has(at); at = byName.get(at.spec.previous ?? '')) {
    seen.add(at)
    chain.unshift(at)
  }
  return withBranches(chain, own)
}

/** Two Releases made at the same time name the same predecessor: both may have touched a cluster, so both count. */
function withBranches(chain: readonly Release[], own: readonly Release[]): readonly Release[] {
  const all = [...chain]
  const newest = all.pop()
  if (newest === undefined || all.length + 1 === own.length) return chain
  const inChain = new Set(chain)
  const aside = new Set(own.filter((r) => !inChain.has(r)).toSorted(byAge))
  for (let before = -1; before !== aside.size;) {
    before = aside.size
    for (const branch of aside) {
      // A Release whose predecessor was deleted is older than the chain.
      const parent = all.findIndex((r) => r.metadata.name === branch.spec.previous)
      if (parent < 0) continue
      const younger = all.findIndex((r, i) => i > parent && createdAt(r) > createdAt(branch))
      all.splice(younger < 0 ? all.length : younger, 0, branch)
      aside.delete(branch)
    }
  }
  return [...all, newest]
}

function byAge(a: Release, b: Release): number {
  const [x, y] = [a, b].map((r) => `${createdAt(r)} ${r.metadata.name ?? ''}`) as [string, string]
  return x < y ? -1 : x > y ? 1 : 0
}

const MAX_AGAIN = 1_000

/** The same commit after another one (a branch that was pushed back) is a separate Release. */
export function releaseName(track: string, commit: string, isTaken: (name: string) => boolean): string {
  const base = `${track}-${shortCommit(commit)}`
  for (let n = 1; n < MAX_AGAIN; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!isTaken(name)) return name
  }
  return `${base}-${commit}`
}

/** The cluster's content from previous Releases: only if it passed its stage there, and nothing changed it since. */
export function previousOf(chain: readonly Release[], of: Release, cluster: string): SeenCluster['previous'] {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  let digest: string | undefined
  for (const release of chain.slice(0, Math.max(0, at)).toReversed()) {
    const status = statusIn(release, cluster)
    if (status === undefined || !mayHaveTouched(status)) continue
    const { phase, healthySince } = status
    const isWell = phase === 'Healthy' || phase === 'Unchanged'
    digest ??= status.digest
    if (!isWell || digest === undefined || status.digest !== digest || healthySince === undefined) return undefined
    if (hasPassedStage(release, status)) return { digest, healthySince }
    // Superseded in its soak. If it changed nothing here, the cluster still has what an earlier one passed with.
    if (phase === 'Healthy') return undefined
  }
  return undefined
}

/** The Release whose content the cluster has while `of` has not begun there: known only if that passed its stage. */
export function standingIn(chain: readonly Release[], of: Release, cluster: string): Release | undefined {
  const own = statusIn(of, cluster)
  if (own === undefined || mayHaveTouched(own) || previousOf(chain, of, cluster) === undefined) return undefined
  return chain[lastTouched(chain, of, cluster)]
}

/** The place in the chain of the last Release before this one that may have brought content to the cluster; -1: none. */
function lastTouched(chain: readonly Release[], of: Release, cluster: string): number {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  return chain.slice(0, Math.max(0, at)).findLastIndex((r) => {
    const status = statusIn(r, cluster)
    return status !== undefined && mayHaveTouched(status)
  })
}

/** The commits of the source's later Releases, in any of its tracks. */
export function commitsAfter(all: readonly Release[], { metadata, spec }: Release): ReadonlySet<string> {
  const chain = chainOf(all, spec)
  const at = chain.findIndex((r) => r.metadata.name === metadata.name)
  const until = new Set(chain.slice(0, at + 1).map((r) => r.spec.commit))
  // Creation times have only whole seconds.
  const later = all.filter((r) => r.spec.source === spec.source && createdMs(r) >= createdMs({ metadata }))
  return new Set(later.map((r) => r.spec.commit).filter((commit) => !until.has(commit)))
}

/**
 * What reverts go back to: the commit followed before, or, if that one did not reach all of its clusters, the last one that did. Undefined: none is known.
 */
export function reachedBefore(chain: readonly Release[], { metadata, spec }: Release): string | undefined {
  const at = chain.findIndex((r) => r.metadata.name === metadata.name)
  const earlier = chain.slice(0, Math.max(0, at))
  const last = earlier.findLast((r) => r.status?.phase === 'Succeeded')
  return last === earlier.at(-1) ? spec.after : last?.spec.commit
}

/**
 * How long the cluster was healthy with this content in a Release that another one superseded in the middle of its soak. The time since then, in which
 * nothing watched the cluster, does not count.
 */
export function soakedBefore(chain: readonly Release[], of: Release, cluster: string): number {
  const last = lastTouched(chain, of, cluster)
  const [release, next] = [chain[last], chain[last + 1]]
  const status = release && statusIn(release, cluster)
  if (release === undefined || next === undefined || status === undefined) return 0
  if (status.phase !== 'Healthy' || status.digest !== of.spec.digests[cluster] || status.skipped === true) return 0
  const until = Math.min(createdMs(next), Date.parse(release.status?.finishedAt ?? '') || Number.POSITIVE_INFINITY)
  const ms = until - Date.parse(status.healthySince ?? '')
  // Times have whole seconds.
  return ms > 0 ? Math.floor(ms / 1_000) * 1_000 : 0
}

/** The oldest finished ones, beyond the number to keep. */
export function releasesToForget(chain: readonly Release[], keep: number): readonly Release[] {
  const over = chain.slice(0, -1).filter(isOver)
  return over.slice(0, Math.max(0, chain.length - 1 - keep))
}

export const sameDigests = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([k, v]) => b[k] === v)
