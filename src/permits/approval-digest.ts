// What an Approval of a permit covers: its operations, targets and commit, and nothing that changes on its own. For a control plane it also covers
// the change, whose text names the snapshot or the versions: approving a restore does not approve a deletion. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { sha256OfJson } from '#lib/sha256.ts'

type PermitSpec = OperationPermit['spec']

export function approvalDigest({
  operations,
  targets,
  commit,
  reason,
}: Pick<PermitSpec, 'operations' | 'targets' | 'commit' | 'reason'>): string {
  const isOneChange = operations.includes('ChangeControlPlane')
  const asked = {
    operations: operations.toSorted(),
    targets: targets.map((t) => t.uid).toSorted(),
    commit,
    ...(isOneChange && { reason }),
  }
  return sha256OfJson(asked)
}
