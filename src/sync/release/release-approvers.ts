// Which Approvals belong to a Release, and who made them. An Approval names content, and the same content may be replaced and return. Approvals from
// before that do not count again, and later ones do not apply to the earlier Release. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Release } from '#api/kinds/release.ts'
import { createdMs } from '#api/schema/object-meta.ts'
import { sameDigests } from './chain.ts'
import type { Approver } from './gates.ts'
import { targetsDigest } from './tracks.ts'

export interface ApprovalsOf {
  readonly approvals: readonly Approval[]
  /** Releases of the track, oldest first. */
  readonly chain: readonly Release[]
  readonly release: Release
}

export const releaseApprovers = (of: ApprovalsOf, now: number): readonly Approver[] =>
  approvalsFor(of)
    .filter(({ spec: { until } }) => until === undefined || Date.parse(until) > now)
    .map(({ spec: { by, groups = [] } }) => ({ by, groups }))

/** Includes expired Approvals. The server wrote all of these times. */
export function approvalsFor({ approvals, chain, release }: ApprovalsOf): readonly Approval[] {
  const digest = targetsDigest(release)
  const [since, until] = [approvedSince(chain, release), replacedAt(chain, release)]
  return approvals.filter(
    // The server's times are whole seconds: an Approval made in the second in which the content was replaced counts for neither content.
    (each) => each.spec.digest === digest && !(createdMs(each) <= since) && !(createdMs(each) >= until),
  )
}

/** When a Release with different content last rolled out before this one. */
export function approvedSince(chain: readonly Release[], release: Release): number {
  const other = chain.slice(0, Math.max(0, placeIn(chain, release))).findLast((r) => isOther(r, release))
  return other === undefined ? Number.NEGATIVE_INFINITY : createdMs(other)
}

function replacedAt(chain: readonly Release[], release: Release): number {
  const at = placeIn(chain, release)
  const other = at < 0 ? undefined : chain.slice(at + 1).find((r) => isOther(r, release))
  return other === undefined ? Number.POSITIVE_INFINITY : createdMs(other)
}

const placeIn = (chain: readonly Release[], { metadata }: Release): number =>
  chain.findIndex((r) => r.metadata.name === metadata.name)

const isOther = ({ spec }: Release, release: Release): boolean => !sameDigests(spec.digests, release.spec.digests)
