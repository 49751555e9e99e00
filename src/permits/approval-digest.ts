// What an Approval of a permit names: its operations, its targets and its commit, and nothing that changes by itself. Of a control plane also the change, whose
// words name the snapshot or the versions: who approves a restore does not approve a deletion. Pure.
import { createHash } from 'node:crypto'
import { canonicalJson } from '#lib/json.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

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
  return createHash('sha256').update(canonicalJson(asked)).digest('hex')
}
