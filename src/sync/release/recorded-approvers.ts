// Who approved a Release: what its record says, so that it survives the Approvals, with those that still exist. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Release } from '#api/kinds/release.ts'

export interface ApprovedBy {
  readonly by: string
  /** Of an Approval that still exists. */
  readonly at?: string
  readonly reason?: string
}

export interface ApprovalsSeen {
  readonly approvals: readonly Approval[]
  /** The digest that an Approval of the Release names. */
  readonly digestOf: (release: Release) => string
}

/** Each Approval, the oldest first, and then each user whose Approvals were deleted. */
export function approversOfRelease(release: Release, { approvals, digestOf }: ApprovalsSeen): readonly ApprovedBy[] {
  const digest = digestOf(release)
  const live = approvals
    .filter(({ spec }) => spec.digest === digest)
    .toSorted((a, b) => (madeAt(a) < madeAt(b) ? -1 : madeAt(a) > madeAt(b) ? 1 : 0))
    .map(({ metadata, spec: { by, reason } }) => ({
      by,
      ...(metadata.creationTimestamp !== undefined && { at: metadata.creationTimestamp }),
      ...(reason !== undefined && { reason }),
    }))
  const known = new Set(live.map(({ by }) => by))
  const recorded = new Set((release.status?.record ?? []).flatMap((r) => r.approvedBy ?? []))
  return [
    ...live,
    ...[...recorded]
      .filter((by) => !known.has(by))
      .toSorted()
      .map((by) => ({ by })),
  ]
}

const madeAt = ({ metadata }: Approval): string => metadata.creationTimestamp ?? ''
