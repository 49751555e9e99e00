// Who approved a Release. An Approval names content, and the same content may be replaced and come back: what was approved before that does not count again. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Release } from '#api/kinds/release.ts'
import { sameDigests } from './chain.ts'
import type { Approver } from './gates.ts'
import { targetsDigest } from './tracks.ts'

export interface ApprovalsOf {
  readonly approvals: readonly Approval[]
  /** Of the track, oldest first. */
  readonly chain: readonly Release[]
  readonly release: Release
}

export function releaseApprovers({ approvals, chain, release }: ApprovalsOf, now: number): readonly Approver[] {
  const digest = targetsDigest(release)
  const since = replacedAt(chain, release)
  return approvals
    .filter(({ spec }) => spec.digest === digest)
    .filter(({ spec: { until } }) => until === undefined || Date.parse(until) > now)
    .filter((each) => !(createdAt(each) < since))
    .map(({ spec: { by, groups = [] } }) => ({ by, groups }))
}

/** When other content took its place last: the server wrote both times. */
function replacedAt(chain: readonly Release[], { metadata, spec }: Release): number {
  const at = chain.findIndex((r) => r.metadata.name === metadata.name)
  const other = chain.slice(0, Math.max(0, at)).findLast((r) => !sameDigests(r.spec.digests, spec.digests))
  return other === undefined ? Number.NEGATIVE_INFINITY : createdAt(other)
}

const createdAt = ({ metadata }: Approval | Release): number => Date.parse(metadata.creationTimestamp ?? '')
