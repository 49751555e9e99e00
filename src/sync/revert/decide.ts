// Decides whether sync writes a commit that reverts a failed Release, and which one. Pure. Invariant: a revert is never reverted, a commit is reverted
// once, and sync only reverts to something that succeeded.
import { commitText, shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { sameDigests } from '../release/chain.ts'
import type { RevertPolicy } from './policy.ts'

export interface RevertSeen {
  readonly release: Release
  /** Status of this pass. */
  readonly status: ReleaseStatus
  /** Releases of the track, oldest first. */
  readonly chain: readonly Release[]
  /** Releases of the source, in all tracks. */
  readonly releases: readonly Release[]
  readonly source: Pick<FleetSource, 'spec' | 'status'>
  /** The pipeline's policy before the commit; undefined: the pipeline did not exist. */
  readonly policy: RevertPolicy | undefined
  readonly isPaused: boolean
}

export type RevertDecision =
  /** Nothing to revert, or no pipeline asks for it. */
  | { readonly kind: 'None' }
  /** Another track's Release reverts the commit, or an earlier attempt did. */
  | { readonly kind: 'Known'; readonly commit: string }
  | { readonly kind: 'Refuse'; readonly why: string }
  | {
      readonly kind: 'Write'
      readonly reverts: string
      readonly restores: string
      readonly branch: string
      readonly isDirect: boolean
      /** Time of the failure; the commit gets this time. */
      readonly at: number
    }

const NONE: RevertDecision = { kind: 'None' }

export function decideRevert(seen: RevertSeen): RevertDecision {
  const { release, status, source, policy, releases } = seen
  const failed = status.stages?.find((s) => s.phase === 'Failed')
  if (failed === undefined || status.revertCommit !== undefined) return NONE
  if (policy?.onFailure !== 'Revert' || seen.isPaused) return NONE
  const { commit, after } = release.spec
  const others = releases.filter((r) => r.metadata.name !== release.metadata.name)
  if (isRevert(seen, others)) return refuse('a revert that fails is not reverted')
  const known = others.find((r) => r.spec.commit === commit && r.status?.revertCommit !== undefined)
  if (known?.status?.revertCommit !== undefined) return { kind: 'Known', commit: known.status.revertCommit }
  const earlier = others.find((r) => r.spec.revertOf === commit)
  if (earlier !== undefined)
    return refuse(`the commit was reverted before, by ${commitText(earlier.spec.commit, earlier.spec)}`)
  if (source.spec.push === undefined) return refuse('the source has no spec.push')
  const { branch } = source.spec.ref
  if (branch === undefined) return refuse('the source follows a tag or a commit, not a branch')
  if (after === undefined) return refuse('no commit was followed before it')
  const problem = problemOfPrevious(seen)
  if (problem !== undefined) return refuse(problem)
  const isDirect = policy.to === 'Direct'
  return {
    kind: 'Write',
    reverts: commit,
    restores: after,
    branch: isDirect ? branch : `${policy.branchPrefix}${shortCommit(commit)}`,
    isDirect,
    at: Date.parse(failed.waitingFor?.since ?? '') || 0,
  }
}

/** Judged by its effect, not only by its message: otherwise a commit could exempt itself from being reverted. */
function isRevert({ release, chain }: RevertSeen, others: readonly Release[]): boolean {
  const { revertOf, commit, digests } = release.spec
  if (revertOf === undefined) return false
  if (others.some((r) => r.status?.revertCommit === commit)) return true
  return chain.some((r) => r.metadata.name !== release.metadata.name && sameDigests(r.spec.digests, digests))
}

const refuse = (why: string): RevertDecision => ({ kind: 'Refuse', why })

/** Reverting to something that also failed would replace one failure with another. */
function problemOfPrevious({ release, chain }: RevertSeen): string | undefined {
  const at = chain.findIndex((r) => r.metadata.name === release.metadata.name)
  const previous = at > 0 ? chain[at - 1] : undefined
  if (previous === undefined) return 'it is the first release of the track'
  const stages = previous.status?.stages ?? []
  const isGood = stages.length > 0 && stages.every((s) => s.phase === 'Succeeded' || s.phase === 'Skipped')
  return isGood ? undefined : `${previous.metadata.name ?? ''}, the release before, did not succeed`
}

/** A failed attempt is retried with growing delays. */
const FIRST_MS = 5_000
const MOST_MS = 600_000

/** When a failed attempt is retried; undefined if there is none. */
export const nextRevertAt = ({ revert }: Pick<ReleaseStatus, 'revert'>): number | undefined =>
  revert === undefined
    ? undefined
    : Date.parse(revert.at) + Math.min(FIRST_MS * 2 ** Math.min(revert.attempts ?? 0, 10), MOST_MS)

export const isRevertDue = (status: ReleaseStatus, now: number): boolean => {
  const next = nextRevertAt(status)
  return next === undefined || now >= next
}
