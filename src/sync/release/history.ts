// Which Releases have passed their stage in a cluster, by the statuses of the track. Pure.
import type { Release } from '#api/kinds/release.ts'
import type { ClusterStatus } from './cluster-seen.ts'

export interface ClusterHistory {
  /** Whether the content applied by this Release has passed; without a name: the current content. */
  readonly hasPassed: (release: string | undefined) => boolean
  /** No Release has reached the cluster before. */
  readonly isFirst: boolean
  /** This Release declares exactly what passed last. */
  readonly isReturn: boolean
  /** A baseline of this Release was taken here. */
  readonly wasTaken: boolean
}

/** A run of Releases with equal content: if a later one passed with it, the first one did too. */
interface Run {
  readonly releases: string[]
  /** Its first Release was deleted. */
  readonly isOlder: boolean
  hasPassed: boolean
}

export function historyOf(chain: readonly Release[], of: Release, cluster: string): ClusterHistory {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  const runs: Run[] = []
  let passedDigest: string | undefined
  for (const release of chain.slice(0, Math.max(0, at))) {
    const status = statusIn(release, cluster)
    if (status === undefined || !hasTouched(status)) continue
    const isSame = status.phase === 'Unchanged'
    let run = runs.at(-1)
    if (run === undefined || !isSame) {
      run = { releases: [], isOlder: isSame, hasPassed: false }
      runs.push(run)
    }
    run.releases.push(release.metadata.name ?? '')
    if (!hasPassedStage(release, status)) continue
    run.hasPassed = true
    passedDigest = status.digest
  }
  const known = new Set(chain.map((r) => r.metadata.name))
  const passed = new Set(runs.filter((r) => r.hasPassed).flatMap((r) => r.releases))
  const [first] = runs
  return {
    hasPassed: (release) => {
      if (release === undefined) return runs.at(-1)?.hasPassed === true
      return known.has(release) ? passed.has(release) : first?.isOlder === true && first.hasPassed
    },
    isFirst: runs.length === 0,
    isReturn: passedDigest !== undefined && of.spec.digests[cluster] === passedDigest,
    wasTaken: statusIn(of, cluster)?.failures !== undefined,
  }
}

/**
 * Whether an earlier Release left the cluster half rolled out, and this one restores what passed last: while it waits, more machines get the reverted
 * content.
 */
export function isLeftUnderway(chain: readonly Release[], of: Release, cluster: string): boolean {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  const last = chain.slice(0, Math.max(0, at)).findLast((r) => {
    const status = statusIn(r, cluster)
    return status !== undefined && status.phase !== 'Unchanged' && mayHaveTouched(status)
  })
  const status = last && statusIn(last, cluster)
  // A healthy cluster has it on all machines: nothing spreads while it waits for its turn.
  if (last === undefined || status === undefined || status.phase === 'Healthy') return false
  return last.spec.digests[cluster] !== of.spec.digests[cluster] && historyOf(chain, of, cluster).isReturn
}

/**
 * Whether the stage of an earlier Release was done with this content of the cluster, with or without it: passing it over again needs no new evidence. A
 * Release that never got an answer there changed nothing.
 */
export function wasPassedWith(chain: readonly Release[], of: Release, cluster: string): boolean {
  const at = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  for (const release of chain.slice(0, Math.max(0, at)).toReversed()) {
    const digest = release.spec.digests[cluster]
    const status = statusIn(release, cluster)
    if (digest !== of.spec.digests[cluster]) {
      if (digest === undefined || (status !== undefined && (status.phase === 'Applying' || hasTouched(status))))
        return false
    } else if (release.status?.stages?.some((s) => s.name === status?.stage && s.phase === 'Succeeded') === true)
      return true
  }
  return false
}

export const statusIn = ({ status }: Release, cluster: string): ClusterStatus | undefined =>
  status?.clusters?.find((c) => c.name === cluster)

/** Phases of a cluster that has the content of the Release. */
export const SETTLED: ReadonlySet<string> = new Set(['Healthy', 'Unchanged'])

/** Whether any content of the Release may be in the cluster. A cluster that lost its stage waits, but keeps what was applied. */
export const mayHaveTouched = ({ phase, failures, attempts }: ClusterStatus): boolean =>
  phase !== 'Waiting' || failures !== undefined || attempts !== undefined

/** A cluster that never answered keeps its previous content. */
export function hasTouched({ phase, failures, attempts }: ClusterStatus): boolean {
  if (phase === 'Waiting') return failures !== undefined || attempts !== undefined
  return failures !== undefined || attempts !== undefined || (phase !== 'Offline' && phase !== 'Applying')
}

/** If the stage skipped a cluster, the cluster has not passed it, even if it became healthy later. */
export function hasPassedStage({ status }: Release, { phase, stage, skipped }: ClusterStatus): boolean {
  if (skipped === true) return false
  const its = status?.stages?.find((s) => s.name === stage)?.phase
  return (phase === 'Healthy' || phase === 'Unchanged') && (its === 'Succeeded' || its === 'Skipped')
}
