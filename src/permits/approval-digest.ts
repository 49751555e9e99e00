// What an Approval of a permit names: its operations, its targets and its commit, and nothing that changes by itself. Pure.
import { createHash } from 'node:crypto'
import { canonicalJson } from '#lib/json.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

type PermitSpec = OperationPermit['spec']

export function approvalDigest({
  operations,
  targets,
  commit,
}: Pick<PermitSpec, 'operations' | 'targets' | 'commit'>): string {
  const asked = { operations: operations.toSorted(), targets: targets.map((t) => t.uid).toSorted(), commit }
  return createHash('sha256').update(canonicalJson(asked)).digest('hex')
}
