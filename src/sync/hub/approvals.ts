// Which digests are approved, and by which users. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { Approver } from '../release/gates.ts'

/** Approved digests that are still valid, with their approvers. */
export function approvedDigests(approvals: readonly Approval[], now: number): ReadonlyMap<string, readonly Approver[]> {
  const live = approvals.filter(({ spec }) => spec.until === undefined || Date.parse(spec.until) > now)
  return new Map(
    [...Map.groupBy(live, ({ spec }) => spec.digest)].map(([digest, all]) => [
      digest,
      all.map(({ spec: { by, groups = [] } }) => ({ by, groups })),
    ]),
  )
}

/** Only the users, by digest: commit signers are not groups. */
export const approvingUsers = (approvals: readonly Approval[], now: number): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map([...approvedDigests(approvals, now)].map(([digest, all]) => [digest, new Set(all.map((a) => a.by))]))
