// Who approved a Release, or its pending deletions. Combines its record, which outlives the Approvals, with the Approvals that still exist. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Release } from '#api/kinds/release.ts'
import { createdAt } from '#api/schema/object-meta.ts'
import { chainOf } from './chain.ts'
import { approvalsFor } from './release-approvers.ts'
import { defined } from '#lib/defined.ts'

export interface ApprovedBy {
  readonly by: string
  /** Time of an Approval that still exists. */
  readonly at?: string
  readonly reason?: string
}

export interface ApprovalsSeen {
  readonly approvals: readonly Approval[]
  /** All Releases on the hub: an Approval of content that was replaced and returned belongs to one of them. */
  readonly releases: readonly Release[]
}

/** Each Approval, oldest first, then each user whose Approvals were deleted. */
export function approversOfRelease(release: Release, { approvals, releases }: ApprovalsSeen): readonly ApprovedBy[] {
  const record = release.status?.record ?? []
  const deletions = new Set(record.flatMap((r) => r.deletions?.digest ?? []))
  const chain = chainOf(
    releases.filter((r) => r.metadata.namespace === release.metadata.namespace),
    release.spec,
  )
  const own = new Set(approvalsFor({ approvals, chain, release }))
  const live = approvals
    .filter((each) => own.has(each) || deletions.has(each.spec.digest))
    .toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : createdAt(a) > createdAt(b) ? 1 : 0))
    .map(({ metadata, spec: { by, reason } }) => ({
      by,
      ...defined({ at: metadata.creationTimestamp, reason }),
    }))
  const known = new Set(live.map(({ by }) => by))
  const recorded = new Set(record.flatMap((r) => [...(r.approvedBy ?? []), ...(r.deletions?.approvedBy ?? [])]))
  return [
    ...live,
    ...[...recorded]
      .filter((by) => !known.has(by))
      .toSorted()
      .map((by) => ({ by })),
  ]
}
