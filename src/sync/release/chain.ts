// The Releases of a track as a chain: which is the newest, what a cluster had before, what the next one is called, which old ones may go. Pure.
import type { Release } from '#api/kinds/release.ts'
import type { SeenCluster } from './cluster-phase.ts'
import { isOver } from './stages.ts'

export interface TrackOf {
  readonly source: string
  readonly track: string
}

/** Oldest first: each names the one before it, since times of creation have whole seconds only. */
export function chainOf(all: readonly Release[], { source, track }: TrackOf): readonly Release[] {
  const own = all.filter(({ spec }) => spec.source === source && spec.track === track)
  const byName = new Map(own.map((r) => [r.metadata.name ?? '', r]))
  const named = new Set(own.flatMap((r) => r.spec.previous ?? []))
  // Normally one; more only when two were made at the same time, and then the later by time and name counts.
  const heads = own.filter((r) => !named.has(r.metadata.name ?? '')).toSorted(byAge)
  const chain: Release[] = []
  const seen = new Set<Release>()
  for (let at = heads.at(-1); at !== undefined && !seen.has(at); at = byName.get(at.spec.previous ?? '')) {
    seen.add(at)
    chain.unshift(at)
  }
  return chain
}

function byAge(a: Release, b: Release): number {
  const [x, y] = [a, b].map((r) => `${r.metadata.creationTimestamp ?? ''} ${r.metadata.name ?? ''}`) as [string, string]
  return x < y ? -1 : x > y ? 1 : 0
}

const SHORT = 12
const MAX_AGAIN = 1_000

/** The same commit after another one (a branch that was pushed back) is a Release of its own. */
export function releaseName(track: string, commit: string, isTaken: (name: string) => boolean): string {
  const base = `${track}-${commit.slice(0, SHORT)}`
  for (let n = 1; n < MAX_AGAIN; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!isTaken(name)) return name
  }
  return `${base}-${commit}`
}

/** What the cluster had from the Releases before: only what was healthy, and only if nothing has touched it since. */
export function previousOf(chain: readonly Release[], of: Release, cluster: string): SeenCluster['previous'] {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  for (const release of chain.slice(0, Math.max(0, at)).toReversed()) {
    const status = release.status?.clusters?.find((c) => c.name === cluster)
    if (status === undefined || status.phase === 'Waiting') continue
    const { phase, digest, healthySince } = status
    const isWell = phase === 'Healthy' || phase === 'Unchanged'
    return isWell && digest !== undefined && healthySince !== undefined ? { digest, healthySince } : undefined
  }
  return undefined
}

/** The oldest that are over, beyond the number to keep. */
export function releasesToForget(chain: readonly Release[], keep: number): readonly Release[] {
  const over = chain.slice(0, -1).filter(isOver)
  return over.slice(0, Math.max(0, chain.length - 1 - keep))
}

export const sameDigests = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([k, v]) => b[k] === v)
